export * from './adapters/openai/index.ts'
