export { langchainTools } from './langchain-tools.ts'
