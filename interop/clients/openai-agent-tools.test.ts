import { openaiAgentsWithTools } from './drivers/openai-agent-tools.ts'
import { keepsPromisesTo } from './keeps-promises.ts'

keepsPromisesTo(openaiAgentsWithTools)
