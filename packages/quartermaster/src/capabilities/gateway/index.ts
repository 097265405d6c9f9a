import { defineInjection, defineModule } from '../../core/catalogue/index.ts'
import { createCallTool, createDescribeTool } from './describe-tool.ts'
import { createFindTools } from './find-tools.ts'
import { createGetStatus } from './get-status.ts'
import { createReadDocs } from './read-docs.ts'

/**
 * The gateway view: five tools that replace all others of an agent. An agent's file does not list them; they are added where the
 * agent has more tools than a model chooses well among, or where its file asks for the view. Two are also added beside an agent's
 * own tools: where calls may have to wait, and where the project has documents.
 */
export default defineModule({
  needs: [],
  create() {
    const gateway = defineInjection({
      key: 'gateway',
      short: 'Finds, describes and calls the tools of an agent that has many.',
      modes: ['gateway'],
      tools: [createFindTools(), createDescribeTool(), createCallTool()],
    })
    const docs = defineInjection({
      key: 'docs',
      short: 'Reads what is written down about the project and its tools.',
      modes: ['gateway', 'documented'],
      tools: [createReadDocs()],
    })
    const status = defineInjection({
      key: 'status',
      short: 'Tells what works, and how calls stand that have to wait.',
      modes: ['gateway', 'waiting'],
      tools: [createGetStatus()],
    })
    return [gateway, docs, status]
  },
})
