import { defineInjection, defineModule } from '../../core/catalogue/index.ts'
import { createCallTool } from './call-tool.ts'
import { createDescribeTool } from './describe-tool.ts'
import { createFindTools } from './find-tools.ts'
import { createGetStatus } from './get-status.ts'
import { createReadDocs } from './read-docs.ts'
import { createToolIndex } from './tool-index.ts'

/**
 * The gateway view: five tools that stand for all others an agent has. Nobody is given them in a file; they come where
 * an agent has more tools than a model chooses well among, or where its file asks for them. One of them comes also beside
 * tools whose calls may have to wait.
 */
export default defineModule({
  needs: [],
  create() {
    // One index for all agents: who sees what is decided by each search.
    const index = createToolIndex()
    const gateway = defineInjection({
      key: 'gateway',
      short: 'Finds, describes and calls the tools of an agent that has many.',
      modes: ['gateway'],
      tools: [createFindTools(index), createDescribeTool(), createCallTool(), createReadDocs(index)],
    })
    const status = defineInjection({
      key: 'status',
      short: 'Tells what works, and how calls stand that have to wait.',
      modes: ['gateway', 'waiting'],
      tools: [createGetStatus()],
    })
    return [gateway, status]
  },
})
