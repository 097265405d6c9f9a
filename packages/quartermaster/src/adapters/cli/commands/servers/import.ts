import { resolve } from 'node:path'
import { type Command, Option } from 'commander'
import {
  AppError,
  type ForeignServer,
  type ForeignServers,
  type ImportedApi,
  type ImportedOperation,
  type UpstreamConsent,
} from '../../../../contracts/index.ts'
import { whichThereAre } from '../../../../core/kernel/index.ts'
import { ask, askYes, canAsk } from '../../ask.ts'
import { addExamples, type Register } from '../../command.ts'
import { CompletingArgument } from '../../completion/command-line.ts'
import { EXIT, EXIT_CODES, UsageError } from '../../errors.ts'
import { defined } from '../../options.ts'
import { shellWord, visibleWord } from '../../output/escape.ts'
import { count, paragraph, type Row, renderTable } from '../../output/layout.ts'
import type { Printer } from '../../output/printer.ts'
import type { Session } from '../../session.ts'
import { addConsentOptions, addGrantOptions, type GrantChoice, toGrant } from './add-choices.ts'
import { type Imported, importServers } from './import-servers.ts'
import { choiceText, foundText, importedText, plannedText } from './import-text.ts'

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
      act(session => importAll(session, toRequest(source, names), options)),
  )
  addExamples(command, [
    ['quartermaster import', 'see what other clients have'],
    ['quartermaster import claude --pin', 'take over all of Claude Code and Claude Desktop'],
    ['quartermaster import .vscode/mcp.json github --no-grant', 'one server of one file, for no agent yet'],
  ])
  registerImportOpenapi(command, act)
}

interface ImportRequest {
  readonly source: string | undefined
  readonly names: readonly string[]
}

/** The first word is a source where it looks like one, and a name otherwise. */
function toRequest(first: string | undefined, rest: readonly string[]): ImportRequest {
  if (first === undefined) return { source: undefined, names: [] }
  const isSource = ['claude', 'cursor', 'vscode'].includes(first) || /[\\/]|\.(?:jsonc?|toml|ya?ml)$/i.test(first)
  return isSource ? { source: first, names: rest } : { source: undefined, names: [first, ...rest] }
}

async function importAll(session: Session, wish: ImportRequest, given: ImportOptions): Promise<number> {
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

function findServers(session: Session, { source }: ImportRequest): Promise<ForeignServers> {
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

/** Shown on standard error, where the question is, before anything of it runs. */
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
  'nothing was run or written: an import runs the programs of another client, and without a terminal no person can be asked. To run it anyway, add --yes.'

const LOOK_FIRST = 'To see the programs first, add --dry-run.'

async function declined(session: Session): Promise<number> {
  await session.notices.write('Nothing was imported.\n')
  return EXIT.no
}

/** Why there was nothing to import, and what to do about it. */
function noneText({ source }: ImportRequest, { servers, places }: ForeignServers): string {
  if (servers.length > 0)
    return 'What was found is for other folders alone: see it with quartermaster import, and name it\n'
  const looked = places.map(({ file }) => file).join(', ')
  return `No MCP servers of ${source ?? 'Claude, Cursor or VS Code'} were found. Looked in: ${looked}. Name a file: quartermaster import FILE\n`
}

/** A file that was named and has nothing to import is a mistake; a client that is not installed is none. */
function refuseAbsent({ source }: ImportRequest, { places, servers }: ForeignServers): void {
  const [place] = places
  if (source === undefined || place?.client !== 'file') return
  // Not an error of our configuration, so the message does not point there.
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

interface OpenapiOptions {
  all?: boolean
  operations?: string
  capability?: string
  server?: string
  secret?: string[]
  dryRun?: boolean
  force?: boolean
}

const registerImportOpenapi: Register = (parent, act) => {
  const command = parent
    .command('openapi')
    .description(
      'Make tools of operations of a web API that an OpenAPI document describes: a Markdown file each, under knowledge/. Without operations: list them.',
    )
    .usage('FILE | URL [OPERATION...] [options]')
    .addArgument(new CompletingArgument('<SOURCE>', 'the document, a file or an address', 'files'))
    .argument('[OPERATION...]', 'only these, by their operation ids, or as "GET /path"')
    .option('--operations <IDS>', 'the same, with commas between them')
    .option('--all', 'every operation that can be a tool')
    .option('--capability <NAME>', 'the capability and the folder (default: from the title of the document)')
    .option('--server <URL>', 'where the API is, instead of what the document says')
    .option(
      '--secret <SCHEME=NAME>',
      'send the secret NAME where the document wants SCHEME; may be given again',
      (pair: string, before: readonly string[] = []) => [...before, pair],
    )
    .option('--dry-run', 'only show what would be done')
    .addOption(new Option('--force', 'write over files that are there and say something else'))
    // What both commands have is read by the one above.
    .action((source: string, operations: string[], _options: OpenapiOptions, self: Command) =>
      act(session => importOpenapi(session, { source, operations }, self.optsWithGlobals())),
    )
  addExamples(command, [
    ['quartermaster import openapi weather.yaml', 'see what there is'],
    ['quartermaster import openapi weather.yaml getWeather listCities', 'make tools of two of them'],
    [
      'quartermaster import openapi https://api.example.com/openapi.json getWeather --capability weather',
      'from a server',
    ],
  ])
}

interface ApiRequest {
  readonly source: string
  readonly operations: readonly string[]
}

async function importOpenapi(session: Session, wish: ApiRequest, options: OpenapiOptions & OfServers): Promise<number> {
  refuseServerOptions(options)
  const { config, data } = session.options
  const { all = false, dryRun = false, force = false, capability, server } = options
  const listed = (options.operations ?? '').split(',').map(id => id.trim())
  const api = await session.attend('Reading', () =>
    session.host.importApi({
      source: wish.source,
      operations: [...wish.operations, ...listed].filter(id => id !== ''),
      isAll: all,
      isForced: force,
      isDryRun: dryRun,
      ...defined({ config, data, capability, server, secretNames: secretNamesOf(options.secret) }),
    }),
  )
  if (session.json) await session.printJson(api)
  else
    await session.out.write(
      api.imported.length > 0 ? importedApiText(api, session.out) : listedApiText(api, session.out),
    )
  if (!session.json && api.imported.length === 0 && api.operations.length > 0)
    await session.notices.write(
      `Make tools of some: quartermaster import openapi ${shellWord(wish.source)} OPERATION...\n`,
    )
  return EXIT.done
}

/** `keyAuth=WEATHER_KEY`, each. */
function secretNamesOf(given: readonly string[] | undefined): Record<string, string> | undefined {
  if (given === undefined) return undefined
  const pairs = given.map(pair => {
    const [, scheme, name] = /^(.+)=([^=]+)$/.exec(pair) ?? []
    if (scheme === undefined || name === undefined)
      throw new UsageError(`--secret takes SCHEME=NAME, such as keyAuth=WEATHER_KEY, and not "${pair}".`)
    return [scheme, name]
  })
  return Object.fromEntries(pairs)
}

/** Options of the command above that are about MCP servers. */
interface OfServers {
  readonly pin?: boolean
  readonly replace?: boolean
  readonly grant?: boolean
  readonly agent?: readonly string[]
}

function refuseServerOptions({ pin, replace, grant, agent }: OfServers): void {
  const given = [pin && '--pin', replace && '--replace', grant === false && '--no-grant', agent && '--agent']
  const first = given.find(name => typeof name === 'string')
  if (first !== undefined) throw new UsageError(`${first} is for MCP servers. Grant the tools when you have read them.`)
}

/** What a document describes, and of what no tool can be made. */
function listedApiText({ operations }: ImportedApi, printer: Printer): string {
  if (operations.length === 0) return 'The document describes no operations.\n'
  const rows = operations.map(
    ({ id, method, path, short, refused }): Row => ({
      cells: [id, `${method} ${path}`, short],
      ...(refused !== undefined && { notes: [`No tool: ${refused}`] }),
    }),
  )
  const columns = [{ title: 'Operation' }, { title: 'Request' }, { title: 'What it does', flexible: true }]
  return renderTable({ columns, rows }, printer)
}

const WORDS = {
  written: 'written',
  replaced: 'written over',
  unchanged: 'there already',
  wouldWrite: 'would be written',
  wouldReplace: 'would be written over',
} as const satisfies Record<ImportedOperation['outcome'], string>

/** What became of each, and what is to be done next. */
function importedApiText(api: ImportedApi, printer: Printer): string {
  const { imported, secrets, secretsFile, capability } = api
  const wide = { ...printer, width: undefined }
  const lines = imported.flatMap(({ tool, file, outcome, notes, secrets }) => [
    `${printer.paint.green('✓')} ${paragraph(`${tool}: ${file} ${WORDS[outcome]}`, wide)}`,
    ...secrets.map(({ name, what, host }) => `  ${paragraph(`Sends the secret "${name}" to ${host}: ${what}`, wide)}`),
    ...notes.map(note => `  ${paragraph(note, wide)}`),
  ])
  const skipped = api.operations.map(({ id, refused }) => `- ${paragraph(`${id}: no tool. ${refused ?? ''}`, wide)}`)
  const missing = secrets.map(({ name, what }) => `  ${paragraph(`"${name}": ${what}`, wide)}`)
  return [
    ...lines,
    ...skipped,
    ...(missing.length > 0 ? [`Add to ${secretsFile}, or the tools stay disabled:\n`, ...missing] : []),
    `${printer.paint.bold(`${count(imported.length, 'tool')} of "${capability}".`)} Give them to an agent: quartermaster grant AGENT ${capability}\n`,
  ].join('')
}
