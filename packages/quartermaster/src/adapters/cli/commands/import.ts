import { resolve } from 'node:path'
import { type Command, Option } from 'commander'
import { AppError, type ForeignServer, type ForeignServers, type UpstreamConsent } from '../../../contracts/index.ts'
import { whichThereAre } from '../../../core/kernel/index.ts'
import { CompletingArgument } from '../completion/kinds.ts'
import { ask, askYes, canAsk } from '../consent.ts'
import { defined } from '../defined.ts'
import { EXIT, EXIT_CODES, UsageError } from '../errors.ts'
import { addGrantOptions, type GrantChoice, toGrant } from '../grant-choice.ts'
import { type Imported, importServers } from '../import-servers.ts'
import { choiceText, foundText, importedText, plannedText } from '../import-text.ts'
import { addExamples, type Register } from '../register.ts'
import type { Session } from '../session.ts'
import { visibleWord } from '../shell-word.ts'
import { addConsentOptions } from '../upstream-consent.ts'
import { registerImportOpenapi } from './import-openapi.ts'

interface ImportOptions extends GrantChoice {
  all?: boolean
  dryRun?: boolean
  pin?: boolean
  replace?: boolean
  consent?: UpstreamConsent
  yes?: boolean
}

export const registerImport: Register = (program, act) => {
  const command: Command = program
    .command('import')
    .description(
      'Take over MCP servers from Claude, Cursor, VS Code or a file of theirs, which stays as it is. Without a source: list what there is.',
    )
    .usage('[claude | cursor | vscode | FILE] [NAME...] [options] | openapi FILE [OPERATION...] [options]')
    .addArgument(
      new CompletingArgument('[SOURCE]', 'claude, cursor, vscode, or a file (default: all of them)', 'files'),
    )
    .argument('[NAME...]', 'only these servers (default: all of the source)')
    .option('--all', 'everything that is found, without naming a source')
    .option('--dry-run', 'only show what would be done')
    .option('--pin', 'write the present versions of npx packages into the commands')
    .addOption(new Option('--replace', 'take the place of upstreams that have the name'))
  addConsentOptions(addGrantOptions(command), 'run and write what is shown, and ask nothing').action(
    (source: string | undefined, names: string[], options: ImportOptions) =>
      act(session => importAll(session, wishOf(source, names), options)),
  )
  addExamples(command, [
    ['quartermaster import', 'see what other clients have'],
    ['quartermaster import claude --pin', 'take over all of Claude Code and Claude Desktop'],
    ['quartermaster import .vscode/mcp.json github --no-grant', 'one server of one file, for nobody yet'],
  ])
  registerImportOpenapi(command, act)
}

interface Wish {
  readonly source: string | undefined
  readonly names: readonly string[]
}

/** The first word is a source where it looks like one, and a name otherwise. */
function wishOf(first: string | undefined, rest: readonly string[]): Wish {
  if (first === undefined) return { source: undefined, names: [] }
  const isSource = ['claude', 'cursor', 'vscode'].includes(first) || /[\\/]|\.(?:jsonc?|toml|ya?ml)$/i.test(first)
  return isSource ? { source: first, names: rest } : { source: undefined, names: [first, ...rest] }
}

async function importAll(session: Session, wish: Wish, given: ImportOptions): Promise<number> {
  const { pin = false, replace = false, dryRun: isDryRun = false, all = false } = given
  const grant = toGrant(given)
  let found = await findServers(session, wish)
  refuseAbsent(wish, found)
  if (wish.source === undefined && wish.names.length === 0 && !all) return listFound(session, found)
  session.hints = { listing: ['import'] }
  const isAsked = !given.yes && !isDryRun && !session.json && canAsk(session)
  const folder = isAsked && chosen(found.servers, wish.names).length > 0 ? await askFolder(session, found) : undefined
  if (folder !== undefined) {
    session.newProject = folder
    // What counts from the project counts from there.
    found = await findServers(session, wish)
  }
  const options = { pin, replace, isDryRun, ...grant, ...defined({ consent: given.consent, yes: given.yes }) }
  const confirm = (planned: readonly Imported[]) => isWanted(session, planned, given)
  const done = await importServers(session, chosen(found.servers, wish.names), { ...options, confirm })
  if (!done) return declined(session)
  const { servers: imported } = done
  if (session.json) await session.printJson({ places: found.places, ...done })
  else await session.out.write(importedText(done, { places: found.places, isDryRun }, session))
  if (imported.length === 0 && !session.json) await session.notices.write(noneText(wish, found))
  // The next command looks for the project where the person is.
  if (folder !== undefined) await session.notices.write(`Next: cd ${visibleWord(folder)} && quartermaster up\n`)
  if (session.host.signal.aborted) return EXIT_CODES.cancelled
  return imported.some(one => one.outcome === 'failed') ? EXIT.no : EXIT.done
}

function findServers(session: Session, { source }: Wish): Promise<ForeignServers> {
  const { newProject, options } = session
  const { config, data } = options
  return session.attend('Looking', () => session.host.clientConfigs(defined({ source, newProject, config, data })))
}

/** Where there is no project yet, it is the person's choice where it is made; nothing where that is here. */
async function askFolder(session: Session, { newProject }: ForeignServers): Promise<string | undefined> {
  if (newProject === undefined) return undefined
  const here = visibleWord(newProject)
  await session.notices.write(`There is no quartermaster.config.json in ${here} or above.\n`)
  const text = `Folder of the new project [${here}]: `
  const answer = (await ask(session, text)).trim().replace(/^~(?=[\\/]|$)/, session.host.io.env['HOME'] ?? '~')
  const folder = resolve(session.host.cwd, /^(?:y|yes|)$/i.test(answer) ? newProject : answer)
  return folder === newProject ? undefined : folder
}

/** Shown where the question stands, whoever else reads the results, and before anything of it runs. */
async function isWanted(session: Session, planned: readonly Imported[], { yes }: ImportOptions): Promise<boolean> {
  if (!session.json) await session.notices.write(plannedText(planned, session))
  if (yes) return true
  if (session.json || !canAsk(session)) throw new UsageError(session.json ? `${UNASKED} ${LOOK_FIRST}` : UNASKED)
  const coming = planned.filter(({ outcome }) => outcome === 'wouldBeAdded' || outcome === 'wouldBeReplaced')
  const what =
    coming.length === 0 ? 'Go on' : `Import and start ${coming.length === 1 ? 'it' : `these ${coming.length}`}`
  return askYes(session, `${what}?`)
}

const UNASKED =
  'nothing was run or written: an import runs the programs of another client, and nobody can be asked without a terminal. To have it, add --yes.'

const LOOK_FIRST = 'To see the programs first, add --dry-run.'

async function declined(session: Session): Promise<number> {
  await session.notices.write('Nothing was imported.\n')
  return EXIT.no
}

/** Why there was nothing to import, and what to do about it. */
function noneText({ source }: Wish, { servers, places }: ForeignServers): string {
  if (servers.length > 0)
    return 'What was found is for other folders alone: see it with quartermaster import, and name it\n'
  const looked = places.map(({ file }) => file).join(', ')
  return `No MCP servers of ${source ?? 'Claude, Cursor or VS Code'} were found. Looked in: ${looked}. Name a file: quartermaster import FILE\n`
}

/** A file that was named and has nothing to import is a mistake; a client that is not installed is none. */
function refuseAbsent({ source }: Wish, { places, servers }: ForeignServers): void {
  const [place] = places
  if (source === undefined || place?.client !== 'file') return
  // No fault of our configuration, so nobody is sent to look there.
  if (!place.found) throw new AppError('INPUT_INVALID', `There is no file "${place.file}". Check the path.`)
  if (place.problem !== undefined)
    throw new AppError('INPUT_INVALID', `"${place.file}": ${place.problem} ${ONE_BY_ONE}`)
  if (servers.length === 0) throw new AppError('INPUT_INVALID', `No MCP servers are in "${place.file}". ${LOOKED_FOR}`)
}

const LOOKED_FOR =
  'Looked for: "mcpServers", "servers" or "mcp.servers" with { "NAME": { "command": … } }, or such servers and nothing else.'

const ONE_BY_ONE = 'Fix the file, or add its servers one by one: quartermaster add NAME -- COMMAND'

async function listFound(session: Session, found: ForeignServers): Promise<number> {
  if (session.json) {
    // Without their secrets, and without entries, which may hold what only looks harmless.
    const servers = found.servers.map(({ name, as, client, file, elsewhere, notes, skipped }) => ({
      name,
      as,
      client,
      file,
      elsewhere,
      notes,
      skipped,
    }))
    await session.printJson({ places: found.places, servers })
    return EXIT.done
  }
  await session.out.write(foundText(found, session.out))
  const next =
    found.servers.length > 0
      ? choiceText(found.servers)
      : 'No MCP servers of Claude, Cursor or VS Code were found. Name a file: quartermaster import FILE\n'
  await session.notices.write(next)
  return EXIT.done
}

const READ_BY_ITSELF =
  'What is read: Claude, Cursor and VS Code, and a JSON file of another client whose path is given, such as ./mcp.json'

/** What is for another folder alone is only taken when it is named. */
function chosen(servers: readonly ForeignServer[], names: readonly string[]): ForeignServer[] {
  if (names.length === 0) return servers.filter(server => server.elsewhere === undefined)
  return names.map(name => {
    const match = servers.find(server => server.name === name) ?? servers.find(server => server.as === name)
    if (match) return match
    const known = servers.map(server => server.name)
    const hint = whichThereAre(name, known)
    throw new AppError('NAME_UNKNOWN', `No server named "${name}" was found.${hint} ${READ_BY_ITSELF}`)
  })
}
