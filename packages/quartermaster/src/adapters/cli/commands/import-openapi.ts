import { type Command, Option } from 'commander'
import { CompletingArgument } from '../completion/kinds.ts'
import { defined } from '../defined.ts'
import { EXIT, UsageError } from '../errors.ts'
import { importedApiText, listedApiText } from '../import-api-text.ts'
import { addExamples, type Register } from '../register.ts'
import type { Session } from '../session.ts'
import { shellWord } from '../shell-word.ts'

interface OpenapiOptions {
  all?: boolean
  operations?: string
  capability?: string
  server?: string
  secret?: string[]
  dryRun?: boolean
  force?: boolean
}

export const registerImportOpenapi: Register = (parent, act) => {
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

interface Wish {
  readonly source: string
  readonly operations: readonly string[]
}

async function importOpenapi(session: Session, wish: Wish, options: OpenapiOptions & OfServers): Promise<number> {
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
