import { inspector } from './drivers/inspector.ts'
import { keepsPromisesTo } from './keeps-promises.ts'

keepsPromisesTo(inspector('legacy'))
keepsPromisesTo(inspector('modern'))
