import type { ForeignServer } from '../../../contracts/index.ts'
import { tempProject } from '../../../testing/temp-project.ts'
import { readClientConfigs } from '../index.ts'

interface Situation {
  platform?: NodeJS.Platform
  env?: Record<string, string>
  ownUrl?: string
  /** The project folder, when it is no real one. */
  dir?: string
}

/** What is found where `home` and `project` hold these files. */
export async function find(files: Record<string, string | Uint8Array>, source?: string, situation: Situation = {}) {
  const folder = await tempProject(files)
  const { platform = 'linux', env = {}, ownUrl, dir = folder.path('project') } = situation
  const home = folder.path('home')
  const found = await readClientConfigs({ source, platform, home, env, dir, projectDir: dir, ownUrl })
  const byName = Object.fromEntries(found.servers.map(server => [server.name, server]))
  const server = (name: string): ForeignServer => {
    const one = byName[name]
    if (!one) throw new Error(`there is no "${name}"`)
    return one
  }
  return { ...found, names: found.servers.map(one => one.name), server, home, project: dir, folder }
}

/** What a file of Claude Desktop holds. */
export const inDesktop = (text: string) => find({ 'home/.config/Claude/claude_desktop_config.json': text }, 'claude')
/** What a file holds that belongs to nobody in particular. */
export const inFile = (value: unknown, situation?: Situation) =>
  find({ 'project/x.json': JSON.stringify(value) }, 'x.json', situation)

/** The only server of a file with this entry. */
export async function only(entry: unknown, situation?: Situation): Promise<ForeignServer> {
  return (await inFile({ mcpServers: { one: entry } }, situation)).server('one')
}
