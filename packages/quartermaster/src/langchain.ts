export * from './adapters/langchain/index.ts'
