import { basename, dirname, join, resolve } from 'node:path'
import type { ClientKind } from '../../contracts/index.ts'

/** The clients whose files we find. */
export const CLIENT_SOURCES = ['claude', 'cursor', 'vscode'] as const
export type ClientSource = (typeof CLIENT_SOURCES)[number]

/** What decides where clients keep their files and how these are read. */
export interface ClientSurroundings {
  readonly platform: NodeJS.Platform
  readonly home: string
  readonly env: Readonly<Record<string, string | undefined>>
  /** The folder whose files are read: the project's, or the current one where the project is elsewhere. */
  readonly dir: string
  /** The folder in which entries will run. */
  readonly projectDir: string
}

/** A file that may contain servers. */
export interface ClientPlace {
  readonly client: ClientKind
  readonly file: string
  /** The folder that its paths are relative to. */
  readonly workspace: string
  /** The client whose format it has, by the name of the file; `file` where that is unknown. */
  readonly dialect: ClientKind
}

/** The files of one client, of all clients, or one named file, in the order of precedence. */
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

/** Each platform has its own folder for settings. An empty variable is like an unset one. */
function inSettings(client: ClientKind, path: string[], { platform, home, env, dir }: ClientSurroundings): ClientPlace {
  const base =
    platform === 'darwin'
      ? join(home, 'Library', 'Application Support')
      : platform === 'win32'
        ? env['APPDATA'] || join(home, 'AppData', 'Roaming')
        : env['XDG_CONFIG_HOME'] || join(home, '.config')
  return { client, file: join(base, ...path), workspace: dir, dialect: client }
}

/** A named file. Its name and folder tell its format and its workspace. */
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
