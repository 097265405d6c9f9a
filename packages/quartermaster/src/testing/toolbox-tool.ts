import type { ToolboxTool } from '../contracts/index.ts'

/** A tool as a toolbox tells of it, for whoever hands tools to a framework. */
export const LOOK: ToolboxTool = {
  name: 'look',
  title: 'Look',
  description: 'Looks.',
  inputSchema: { type: 'object', properties: {} },
  mutates: false,
  idempotent: true,
}
