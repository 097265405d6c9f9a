import { aiSdk } from './drivers/ai-sdk.ts'
import { keepsPromisesTo } from './keeps-promises.ts'

keepsPromisesTo(aiSdk)
