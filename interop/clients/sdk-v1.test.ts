import { v1Sdk } from './drivers/v1-sdk.ts'
import { keepsPromisesTo } from './keeps-promises.ts'

keepsPromisesTo(v1Sdk)
