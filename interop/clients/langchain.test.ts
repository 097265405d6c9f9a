import { langchain } from './drivers/langchain.ts'
import { keepsPromisesTo } from './keeps-promises.ts'

keepsPromisesTo(langchain)
