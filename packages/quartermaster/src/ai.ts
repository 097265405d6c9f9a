export * from './adapters/ai-sdk/index.ts'
