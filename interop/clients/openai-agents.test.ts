import { openaiAgents } from './drivers/openai-agents.ts'
import { keepsPromisesTo } from './keeps-promises.ts'

keepsPromisesTo(openaiAgents)
