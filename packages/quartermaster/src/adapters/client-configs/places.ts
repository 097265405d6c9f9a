import { basename, dirname, join, resolve } from 'node:path'
import type { ClientKind } from '../../contracts/index.ts'

/** The clients whose usual places are known. */
export const CLIENT_SOURCES = ['claude', 'cursor', 'vscode'] as const
export type ClientSource = (typeof CLIENT_SOURCES)[number]

/** Where someone sits: what decides where clients keep their files and what those mean. */
export interface ClientSurroundings {
  readonly platform: NodeJS.Platform
  readonly home: string
  readonly env: Readonly<Record<string, string | undefined>>
  /** The folder whose files count as its own: that of the project, or where they are when the project is elsewhere. */
  readonly dir: string
  /** The project folder, where entries are to run. */
  readonly projectDir: string
}

/** A file that may hold servers. */
export interface ClientPlace {
  readonly client: ClientKind
  readonly file: string
  /** The folder that its entries count from. */
  readonly workspace: string
  /** Whose way of writing it has, also where only the file was named; `file` where its name tells nothing. */
  readonly dialect: ClientKind
}

/** The places of one client, of all of them, or of one file; what counts first stands first. */
export function placesOf(source: string | undefined, around: ClientSurroundings): ClientPlace[] {
  if (source === undefined) return CLIENT_SOURCES.flatMap(client => PLACES[client](around))
  const known = CLIENT_SOURCES.find(client => client === source)
  return known ? PLACES[known](around) : [filePlace(resolve(around.dir, source), around)]
}

const PLACES: Readonly<Record<ClientSource, (around: ClientSurroundings) => ClientPlace[]>> = {
  claude: around => [
    here('claude-code', '.mcp.json', around),
    atHome('claude-code', ['.claude.json'], around),
    inSettings('claude-desktop', ['Claude', 'claude_desktop_config.json'], around),
  ],
  cursor: around => [
    here('cursor', join('.cursor', 'mcp.json'), around),
    atHome('cursor', ['.cursor', 'mcp.json'], around),
  ],
  vscode: around => [
    here('vscode', join('.vscode', 'mcp.json'), around),
    inSettings('vscode', ['Code', 'User', 'mcp.json'], around),
  ],
}

function here(client: ClientKind, file: string, { dir }: ClientSurroundings): ClientPlace {
  return { client, file: join(dir, file), workspace: dir, dialect: client }
}

function atHome(client: ClientKind, path: string[], { home, dir }: ClientSurroundings): ClientPlace {
  return { client, file: join(home, ...path), workspace: dir, dialect: client }
}

/** Each system has its own folder for what programs remember about a person. A variable that is empty counts as not set. */
function inSettings(client: ClientKind, path: string[], { platform, home, env, dir }: ClientSurroundings): ClientPlace {
  const base =
    platform === 'darwin'
      ? join(home, 'Library', 'Application Support')
      : platform === 'win32'
        ? env['APPDATA'] || join(home, 'AppData', 'Roaming')
        : env['XDG_CONFIG_HOME'] || join(home, '.config')
  return { client, file: join(base, ...path), workspace: dir, dialect: client }
}

/** A file that lies in a project belongs to that project, and one that is called as a client calls its own is written as there. */
function filePlace(file: string, { dir }: ClientSurroundings): ClientPlace {
  const folder = dirname(file)
  const place = { client: 'file', file } as const
  const owner = FOLDERS.get(basename(folder))
  if (owner && basename(file) === 'mcp.json') return { ...place, workspace: dirname(folder), dialect: owner }
  const dialect = FILES.get(basename(file)) ?? 'file'
  return { ...place, workspace: basename(file) === '.mcp.json' ? folder : dir, dialect }
}

const FOLDERS: ReadonlyMap<string, ClientKind> = new Map([
  ['.vscode', 'vscode'],
  ['.cursor', 'cursor'],
])
const FILES: ReadonlyMap<string, ClientKind> = new Map([
  ['.mcp.json', 'claude-code'],
  ['.claude.json', 'claude-code'],
  ['claude_desktop_config.json', 'claude-desktop'],
])
