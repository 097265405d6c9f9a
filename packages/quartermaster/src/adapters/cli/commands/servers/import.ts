import { resolve } from 'node:path'
import { Option } from 'commander'
import {
  AppError,
  type ForeignServer,
  type ForeignServers,
  type ImportedApi,
  type ImportedOperation,
  type UpstreamConsent,
} from '../../../../contracts/index.ts'
import { suggestOrList } from '../../../../core/kernel/index.ts'
import { ask, askYes, canAsk } from '../../ask.ts'
import { command, printAnswer } from '../../command.ts'
import { EXIT, EXIT_CODES, UsageError } from '../../errors.ts'
import { defined, repeated } from '../../options.ts'
import { count, renderTable, unwrapped } from '../../output/layout.ts'
import type { Printer } from '../../output/terminal.ts'
import { shellWord, visibleWord } from '../../output/terminal.ts'
import type { Session } from '../../session.ts'
import { consentOptions, type GrantChoice, grantOptions, toGrant } from './add-plan.ts'
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

interface ImportApiCommand {
  source: string
  words: string[]
  operations?: string
  all?: boolean
  capability?: string
  server?: string
  secret?: string[]
  dryRun?: boolean
  force?: boolean
}

const registerImportOpenapi = command<ImportApiCommand>({
  name: 'openapi',
  description:
    'Make tools of operations of a web API that an OpenAPI document describes: a Markdown file each, under knowledge/. Without operations: list them.',
  usage: 'FILE | URL [OPERATION...] [options]',
  arguments: [
    ['<SOURCE>', 'the document, a file or an address', 'source', 'files'],
    ['[OPERATION...]', 'only these, by their operation ids, or as "GET /path"', 'words'],
  ],
  options: [
    new Option('--operations <IDS>', 'the same, with commas between them'),
    new Option('--all', 'every operation that can be a tool'),
    new Option('--capability <NAME>', 'the capability and the folder (default: from the title of the document)'),
    new Option('--server <URL>', 'where the API is, instead of what the document says'),
    new Option(
      '--secret <SCHEME=NAME>',
      'send the secret NAME where the document wants SCHEME; may be given again',
    ).argParser(repeated),
    new Option('--dry-run', 'only show what would be done'),
    new Option('--force', 'write over files that are there and say something else'),
  ],
  examples: [
    ['quartermaster import openapi weather.yaml', 'see what there is'],
    ['quartermaster import openapi weather.yaml getWeather listCities', 'make tools of two of them'],
    [
      'quartermaster import openapi https://api.example.com/openapi.json getWeather --capability weather',
      'from a server',
    ],
  ],
  async run(session, given, command) {
    refuseServerOptions(command.optsWithGlobals())
    const { config, data } = session.options
    const { source, words, all = false, dryRun = false, force = false, capability, server, secret } = given
    const listed = (given.operations ?? '').split(',').map(id => id.trim())
    const api = await session.attend('Reading', () =>
      session.host.importApi({
        source,
        operations: [...words, ...listed].filter(id => id !== ''),
        isAll: all,
        isForced: force,
        isDryRun: dryRun,
        ...defined({ config, data, capability, server, secretNames: secret && secretNamesOf(secret) }),
      }),
    )
    if (api.imported.length > 0) return printAnswer(session, api, { text: importedApiText(api, session.out) })
    const next = `Make tools of some: quartermaster import openapi ${shellWord(source)} OPERATION...\n`
    const notice = api.operations.length > 0 ? next : ''
    return printAnswer(session, api, { text: listedApiText(api, session.out), notice })
  },
})

/** `keyAuth=WEATHER_KEY`, each. */
function secretNamesOf(given: readonly string[]): Record<string, string> {
  const pairs = given.map(pair => {
    const [, scheme, name] = /^(.+)=([^=]+)$/.exec(pair) ?? []
    if (scheme === undefined || name === undefined)
      throw new UsageError(`--secret takes SCHEME=NAME, such as keyAuth=WEATHER_KEY, and not "${pair}".`)
    return [scheme, name]
  })
  return Object.fromEntries(pairs)
}

/** The parent command takes options about MCP servers, which do not apply here. */
function refuseServerOptions({ pin, replace, grant, agent }: Partial<ImportOptions>): void {
  const given = [pin && '--pin', replace && '--replace', grant === false && '--no-grant', agent && '--agent']
  const first = given.find(name => typeof name === 'string')
  if (first !== undefined) throw new UsageError(`${first} is for MCP servers. Grant the tools when you have read them.`)
}

function listedApiText({ operations }: ImportedApi, printer: Printer): string {
  if (operations.length === 0) return 'The document describes no operations.\n'
  const rows = operations.map(({ id, method, path, short, refused }) => {
    return { cells: [id, `${method} ${path}`, short], notes: refused === undefined ? [] : [`No tool: ${refused}`] }
  })
  return renderTable(['Operation', 'Request', { wraps: 'What it does' }], rows, printer)
}

const WORDS = {
  written: 'written',
  replaced: 'written over',
  unchanged: 'there already',
  wouldWrite: 'would be written',
  wouldReplace: 'would be written over',
} as const satisfies Record<ImportedOperation['outcome'], string>

function importedApiText(api: ImportedApi, printer: Printer): string {
  const { imported, secrets, secretsFile, capability } = api
  const lines = imported.flatMap(({ tool, file, outcome, notes, secrets }) => [
    `${printer.paint.green('✓')} ${unwrapped(`${tool}: ${file} ${WORDS[outcome]}`)}`,
    ...secrets.map(({ name, what, host }) => `  ${unwrapped(`Sends the secret "${name}" to ${host}: ${what}`)}`),
    ...notes.map(note => `  ${unwrapped(note)}`),
  ])
  const skipped = api.operations.map(({ id, refused }) => `- ${unwrapped(`${id}: no tool. ${refused ?? ''}`)}`)
  const missing = secrets.map(({ name, what }) => `  ${unwrapped(`"${name}": ${what}`)}`)
  return [
    ...lines,
    ...skipped,
    ...(missing.length > 0 ? [`Add to ${secretsFile}, or the tools stay disabled:\n`, ...missing] : []),
    `${printer.paint.bold(`${count(imported.length, 'tool')} of "${capability}".`)} Give them to an agent: quartermaster grant AGENT ${capability}\n`,
  ].join('')
}

export const registerImport = command<ImportOptions & { source?: string; names: string[] }>({
  name: 'import',
  description:
    'Take over MCP servers from Claude, Cursor, VS Code or a file of theirs, which stays as it is. Without a source: list what there is.',
  usage: '[claude | cursor | vscode | FILE] [NAME...] [options] | openapi FILE [OPERATION...] [options]',
  arguments: [
    ['[SOURCE]', 'claude, cursor, vscode, or a file (default: all of them)', 'source', 'files'],
    ['[NAME...]', 'only these servers (default: all of the source)', 'names'],
  ],
  options: [
    new Option('--all', 'everything that is found, without naming a source'),
    new Option('--dry-run', 'only show what would be done'),
    new Option('--pin', 'write the present versions of npx packages into the commands'),
    new Option('--replace', 'replace upstreams that have the name'),
    ...grantOptions(),
    ...consentOptions('run and write what is shown, and ask nothing'),
  ],
  examples: [
    ['quartermaster import', 'see what other clients have'],
    ['quartermaster import claude --pin', 'take over all of Claude Code and Claude Desktop'],
    ['quartermaster import .vscode/mcp.json github --no-grant', 'one server of one file, for no agent yet'],
  ],
  subcommands: [registerImportOpenapi],
  run: (session, { source, names, ...options }) => importAll(session, toRequest(source, names), options),
})

interface ImportRequest {
  readonly source: string | undefined
  readonly names: readonly string[]
}

/** The first word is a source where it looks like one, and the name of a server otherwise. */
function toRequest(first: string | undefined, rest: readonly string[]): ImportRequest {
  if (first === undefined) return { source: undefined, names: [] }
  const isSource = ['claude', 'cursor', 'vscode'].includes(first) || /[\\/]|\.(?:jsonc?|toml|ya?ml)$/i.test(first)
  return isSource ? { source: first, names: rest } : { source: undefined, names: [first, ...rest] }
}

async function importAll(session: Session, request: ImportRequest, given: ImportOptions): Promise<number> {
  const { pin = false, replace = false, dryRun: isDryRun = false, all = false } = given
  const grant = toGrant(given)
  let found = await findServers(session, request)
  refuseAbsent(request, found)
  if (request.source === undefined && request.names.length === 0 && !all) return listFound(session, found)
  session.hints = { listing: ['import'] }
  const isAsked = !given.yes && !isDryRun && !session.json && canAsk(session)
  const folder =
    isAsked && chosen(found.servers, request.names).length > 0 ? await askFolder(session, found) : undefined
  if (folder !== undefined) {
    session.newProject = folder
    // Paths are relative to the project.
    found = await findServers(session, request)
  }
  const options = { pin, replace, isDryRun, ...grant, ...defined({ consent: given.consent, yes: given.yes }) }
  const confirm = (planned: readonly Imported[]) => isConfirmed(session, planned, given)
  const done = await importServers(session, chosen(found.servers, request.names), { ...options, confirm })
  if (!done) {
    await session.notices.write('Nothing was imported.\n')
    return EXIT.no
  }
  const { servers: imported } = done
  if (session.json) await session.printJson({ places: found.places, ...done })
  else await session.out.write(importedText(done, { places: found.places, isDryRun }, session))
  if (imported.length === 0 && !session.json) await session.notices.write(noneText(request, found))
  // The next command looks for the project in the current folder.
  if (folder !== undefined) await session.notices.write(`Next: cd ${visibleWord(folder)} && quartermaster up\n`)
  if (session.host.signal.aborted) return EXIT_CODES.cancelled
  return imported.some(one => one.outcome === 'failed') ? EXIT.no : EXIT.done
}

function findServers(session: Session, { source }: ImportRequest): Promise<ForeignServers> {
  const { newProject, options } = session
  const { config, data } = options
  return session.attend('Looking', () => session.host.clientConfigs(defined({ source, newProject, config, data })))
}

/** Where there is no project yet, the person chooses its folder; answers nothing for the current one. */
async function askFolder(session: Session, { newProject }: ForeignServers): Promise<string | undefined> {
  if (newProject === undefined) return undefined
  const here = visibleWord(newProject)
  await session.notices.write(`There is no quartermaster.config.json in ${here} or above.\n`)
  const text = `Folder of the new project [${here}]: `
  const answer = (await ask(session, text)).trim().replace(/^~(?=[\\/]|$)/, session.host.io.env['HOME'] ?? '~')
  const folder = resolve(session.host.cwd, /^(?:y|yes|)$/i.test(answer) ? newProject : answer)
  return folder === newProject ? undefined : folder
}

/** Shows what would be done before anything of it runs, and asks. */
async function isConfirmed(session: Session, planned: readonly Imported[], { yes }: ImportOptions): Promise<boolean> {
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

/** Why there was nothing to import, and what to do about it. */
function noneText({ source }: ImportRequest, { servers, places }: ForeignServers): string {
  if (servers.length > 0)
    return 'What was found is for other folders alone: see it with quartermaster import, and name it\n'
  const looked = places.map(({ file }) => file).join(', ')
  return `No MCP servers of ${source ?? 'Claude, Cursor or VS Code'} were found. Looked in: ${looked}. Name a file: quartermaster import FILE\n`
}

/** A named file without servers is an error; a client that is not installed is none. */
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

function listFound(session: Session, found: ForeignServers): Promise<number> {
  // Without secrets, and without entries, which may contain a secret that was not recognised.
  const servers = found.servers.map(({ name, as, client, file, elsewhere, notes, skipped }) => {
    return { name, as, client, file, elsewhere, notes, skipped }
  })
  const none = 'No MCP servers of Claude, Cursor or VS Code were found. Name a file: quartermaster import FILE\n'
  return printAnswer(
    session,
    { places: found.places, servers },
    {
      text: foundText(found, session.out),
      notice: servers.length > 0 ? choiceText(found.servers) : none,
    },
  )
}

const SOURCES =
  'What is read: Claude, Cursor and VS Code, and a JSON file of another client whose path is given, such as ./mcp.json'

/** Servers for another folder alone are imported only by name. */
function chosen(servers: readonly ForeignServer[], names: readonly string[]): ForeignServer[] {
  if (names.length === 0) return servers.filter(server => server.elsewhere === undefined)
  return names.map(name => {
    const match = servers.find(server => server.name === name) ?? servers.find(server => server.as === name)
    if (match) return match
    const known = servers.map(server => server.name)
    const hint = suggestOrList(name, known)
    throw new AppError('NAME_UNKNOWN', `No server named "${name}" was found.${hint} ${SOURCES}`)
  })
}
