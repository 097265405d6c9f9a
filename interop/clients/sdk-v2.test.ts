import { v2Client } from './drivers/v2-client.ts'
import { keepsPromisesTo } from './keeps-promises.ts'

keepsPromisesTo(v2Client('the SDK’s client, version 2, as it comes', 'legacy'))
keepsPromisesTo(v2Client('the SDK’s client, version 2, that finds the era itself', 'auto'))
keepsPromisesTo(v2Client('the SDK’s client, version 2, held to 2026-07-28', { pin: '2026-07-28' }))
