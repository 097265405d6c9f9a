import { z } from 'zod'
import { RecheckAnswer, ReloadReport, TOOL_NAMES } from '../../contracts/index.ts'
import { defineTool, type RegistryService } from '../../core/catalogue/index.ts'

/** A thousand files take seconds; the sources stop waiting for a hanging disk after a minute. */
const TIMEOUT_MS = 120_000

/** The tool that loads changed definitions. */
export function createReload(registry: RegistryService) {
  return defineTool({
    name: TOOL_NAMES.reload,
    title: 'Load changes',
    short:
      'Loads changed configuration, agents and definitions: new code, new tools, new parameters. Nothing has to be restarted.',
    whenToUse:
      'After files of the project were changed and the change does not show. ' +
      'Comes back with what was added, changed and removed, and what was rejected with the reason; a broken file keeps ' +
      'its last good version. Calls that are under way are not disturbed. ' +
      'It is not for a tool that is disabled because something outside is down: that is registry_recheck.',
    command: { none: 'The owner has quartermaster reload.' },
    input: z.strictObject({}),
    output: ReloadReport,
    examples: [{ query: 'take up my edit', input: {} }],
    mutates: true,
    mcp: { annotations: { destructiveHint: false } },
    idempotent: true,
    timeoutMs: TIMEOUT_MS,
    handler: () => registry.reload(),
  })
}

const Input = z.strictObject({
  name: z
    .string()
    .min(1)
    .max(128)
    .describe(
      'A tool, dependency or capability; "tool:x", "dependency:x" or "capability:x" where one name means several.',
    ),
  force: z.boolean().default(false).describe('Check at once, also right after the last check.'),
})

/** The tool that checks dependencies again. */
export function createRecheck(registry: RegistryService) {
  return defineTool({
    name: TOOL_NAMES.recheck,
    title: 'Check again',
    short:
      'Checks again what a disabled tool, a dependency or a capability is missing, and brings back all that works again.',
    whenToUse:
      'When something outside was repaired and its tools are still disabled. ' +
      'Probes only what is missing, at most every half minute for each dependency unless forced, and never what its ' +
      'owner switched off. Comes back with whether all is there now, what is still missing and why, and when it may be ' +
      'checked again. Calling a disabled tool does the same automatically. It loads no changed code: that is registry_reload.',
    command: { none: 'The owner has quartermaster recheck NAME.' },
    input: Input,
    output: RecheckAnswer,
    examples: [
      { query: 'the mail server is back', input: { name: 'dependency:smtp' } },
      { query: 'check now, right after the last check', input: { name: 'send_mail', force: true } },
    ],
    // A check changes nothing: its result was true before.
    mutates: false,
    handler: ({ name, force }) => registry.recheck(name, { force }),
  })
}
