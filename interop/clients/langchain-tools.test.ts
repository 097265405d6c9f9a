import { langchainWithTools } from './drivers/langchain-tools.ts'
import { keepsPromisesTo } from './keeps-promises.ts'

keepsPromisesTo(langchainWithTools)
