import type { ToolboxTool } from '../contracts/index.ts'

/** A tool as a toolbox describes it, to hand to a framework. */
export const LOOK: ToolboxTool = {
  name: 'look',
  title: 'Look',
  description: 'Looks.',
  inputSchema: { type: 'object', properties: {} },
  mutates: false,
  idempotent: true,
}
