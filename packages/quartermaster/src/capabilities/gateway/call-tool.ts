import { z } from 'zod'
import { TOLD_TOOLS } from '../../contracts/index.ts'
import { defineForwardingTool } from '../../core/catalogue/index.ts'
import { ToolName } from './granted.ts'

const Input = z.strictObject({
  name: ToolName,
  arguments: z
    .record(z.string(), z.unknown())
    .default({})
    .describe('Its arguments, as the inputSchema from describe_tool says. Nothing when it takes none.'),
})

/** The tool that calls another one. It only leads there: the call is that of the other tool in every respect. */
export function createCallTool() {
  return defineForwardingTool({
    name: TOLD_TOOLS.call,
    title: 'Call a tool',
    short:
      'Calls one of the tools you were given here, by its name and with its arguments, and answers what that tool answers.',
    whenToUse:
      'When you know the name (find_tools) and the arguments (describe_tool). ' +
      'Comes back with exactly what the tool itself gives: its result, its questions, its progress, its errors. ' +
      'A disabled tool is looked at again before it is refused. ' +
      'It cannot call itself, and a name that you do not have is an error that suggests the closest one.',
    section: 'gateway',
    command: { none: 'Every tool is called by its own command, or with quartermaster call NAME.' },
    input: Input,
    examples: [
      { query: 'read the notes', input: { name: 'read_file', arguments: { path: 'notes.md' } } },
      { query: 'a tool without arguments', input: { name: 'registry_status' } },
    ],
    // It may lead to any tool, so it is marked as the most careful of them would be.
    mutates: true,
    forward: ({ name, arguments: input }) => ({ tool: name, input }),
  })
}
