import { homedir } from 'node:os'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { CLIENT_SOURCES, isInside, readClientConfigs } from '../../adapters/client-configs/index.ts'
import { connectToOwner } from '../../adapters/data-folder/index.ts'
import { builtinNames } from '../../adapters/modules/index.ts'
import type { Environment } from '../../adapters/project-files/index.ts'
import type { ForeignServers } from '../../contracts/index.ts'
import { CAPABILITIES_DIR } from '../package-info.ts'
import { locateProject, type ProjectPlace } from '../project/locate-project.ts'

/** What other clients have configured for this person and this project. */
export async function clientConfigs(
  source: string | undefined,
  place: ProjectPlace,
  env: Environment,
): Promise<ForeignServers> {
  const { projectDir, configFile, dataDir } = await locateProject(place)
  const owner = await connectToOwner({ dir: dataDir })
  // A project may be elsewhere, and then the files of the clients are still those of this folder.
  const dir = isInside(projectDir, place.from) ? projectDir : place.from
  const around = { platform: process.platform, home: homedir(), env, dir, projectDir }
  const reserved = await builtinNames(fileURLToPath(CAPABILITIES_DIR))
  const isClient = source === undefined || CLIENT_SOURCES.some(client => client === source)
  const file = isClient ? source : resolve(place.from, source)
  const found = await readClientConfigs({ ...around, source: file, ownUrl: owner?.url, reserved })
  return { ...found, ...(configFile === undefined && !owner && { newProject: projectDir }) }
}
