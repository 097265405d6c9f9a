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
  /** The project folder. */
  readonly dir: string
}

/** A file that may hold servers. */
export interface ClientPlace {
  readonly client: ClientKind
  readonly file: string
  /** The folder that its entries count from. */
  readonly workspace: string
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
    { client: 'claude-code', file: join(around.home, '.claude.json'), workspace: around.dir },
    inSettings('claude-desktop', ['Claude', 'claude_desktop_config.json'], around),
  ],
  cursor: around => [
    here('cursor', join('.cursor', 'mcp.json'), around),
    { client: 'cursor', file: join(around.home, '.cursor', 'mcp.json'), workspace: around.dir },
  ],
  vscode: around => [
    here('vscode', join('.vscode', 'mcp.json'), around),
    inSettings('vscode', ['Code', 'User', 'mcp.json'], around),
  ],
}

function here(client: ClientKind, file: string, { dir }: ClientSurroundings): ClientPlace {
  return { client, file: join(dir, file), workspace: dir }
}

/** Each system has its own folder for what programs remember about a person. */
function inSettings(client: ClientKind, path: string[], { platform, home, env, dir }: ClientSurroundings): ClientPlace {
  const base =
    platform === 'darwin'
      ? join(home, 'Library', 'Application Support')
      : platform === 'win32'
        ? (env['APPDATA'] ?? join(home, 'AppData', 'Roaming'))
        : (env['XDG_CONFIG_HOME'] ?? join(home, '.config'))
  return { client, file: join(base, ...path), workspace: dir }
}

/** A file that lies in a project belongs to that project. */
function filePlace(file: string, { dir }: ClientSurroundings): ClientPlace {
  const folder = dirname(file)
  if (basename(file) === '.mcp.json') return { client: 'file', file, workspace: folder }
  if (['.vscode', '.cursor'].includes(basename(folder)) && basename(file) === 'mcp.json') {
    return { client: 'file', file, workspace: dirname(folder) }
  }
  return { client: 'file', file, workspace: dir }
}
