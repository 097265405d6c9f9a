import { aiSdkWithTools } from './drivers/ai-tools.ts'
import { keepsPromisesTo } from './keeps-promises.ts'

keepsPromisesTo(aiSdkWithTools)
