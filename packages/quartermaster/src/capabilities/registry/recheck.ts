import { z } from 'zod'
import { RecheckAnswer, TOLD_TOOLS } from '../../contracts/index.ts'
import { defineTool, type RegistryDesk } from '../../core/catalogue/index.ts'

const Input = z.strictObject({
  name: z
    .string()
    .min(1)
    .max(128)
    .describe(
      'A tool, dependency or capability; "tool:x", "dependency:x" or "capability:x" where one name means several.',
    ),
  force: z.boolean().default(false).describe('Look at once, although it was looked at a moment ago.'),
})

/** The tool that has something looked at again. */
export function createRecheck(registry: RegistryDesk) {
  return defineTool({
    name: TOLD_TOOLS.recheck,
    title: 'Look again',
    short:
      'Looks again at what a disabled tool, a dependency or a capability is missing, and brings back all that works again.',
    whenToUse:
      'When something outside was repaired and its tools are still disabled. ' +
      'Probes only what is missing, at most every half minute for each dependency unless forced, and never what its ' +
      'owner switched off. Comes back with whether all is there now, what is still missing and why, and when it may be ' +
      'looked at again. Calling a disabled tool does the same by itself. It loads no changed code: that is registry_reload.',
    command: { none: 'The owner has quartermaster recheck NAME.' },
    input: Input,
    output: RecheckAnswer,
    examples: [
      { query: 'the mail server is back', input: { name: 'dependency:smtp' } },
      { query: 'look now, whatever you saw before', input: { name: 'send_mail', force: true } },
    ],
    // It looks, and what it learns was true before.
    mutates: false,
    handler: ({ name, force }) => registry.recheck(name, { force }),
  })
}
