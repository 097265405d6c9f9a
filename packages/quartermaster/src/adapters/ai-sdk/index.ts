export { aiTools } from './ai-tools.ts'
