import { z } from 'zod'
import { ReloadReport, TOLD_TOOLS } from '../../contracts/index.ts'
import { defineTool, type RegistryDesk } from '../../core/catalogue/index.ts'

/** A thousand files take seconds; a disk that hangs is given up by the sources themselves after a minute. */
const TIMEOUT_MS = 120_000

/** The tool that loads what was changed. */
export function createReload(registry: RegistryDesk) {
  return defineTool({
    name: TOLD_TOOLS.reload,
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
