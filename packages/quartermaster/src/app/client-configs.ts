import { homedir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { readClientConfigs } from '../adapters/client-configs/index.ts'
import { connectToOwner } from '../adapters/data-folder/index.ts'
import { builtinNames } from '../adapters/modules/index.ts'
import type { Environment } from '../adapters/project-files/index.ts'
import type { ForeignServers } from '../contracts/index.ts'
import { locateProject, type ProjectPlace } from './locate-project.ts'
import { CAPABILITIES_DIR } from './package-entries.ts'

/** What other clients have configured for this person and this project. */
export async function clientConfigs(
  source: string | undefined,
  place: ProjectPlace,
  env: Environment,
): Promise<ForeignServers> {
  const { projectDir, dataDir } = await locateProject(place)
  const owner = await connectToOwner({ dir: dataDir })
  const around = { platform: process.platform, home: homedir(), env, dir: projectDir }
  const reserved = await builtinNames(fileURLToPath(CAPABILITIES_DIR))
  return readClientConfigs({ ...around, source, ownUrl: owner?.url, reserved })
}
