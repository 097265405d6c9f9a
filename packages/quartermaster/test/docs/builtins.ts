import { fileURLToPath } from 'node:url'
import { createEffectKinds } from '../../src/adapters/effects/index.ts'
import { createBuiltinSource } from '../../src/adapters/modules/index.ts'
import { CAPABILITIES_DIR } from '../../src/app/package-info.ts'
import type { Generation, Services } from '../../src/core/catalogue/index.ts'
import { createHub } from '../../src/testing/hub.ts'

/** The registry and the services of the platform are unused here: only definitions are read. */
const UNUSED = (() => {}) as never
const SERVICES: Services = {
  registry: UNUSED,
  paths: { projectDir: '/project', dataDir: '/project/.quartermaster' },
  secrets: { get: () => undefined },
  people: UNUSED,
  inbox: UNUSED,
  history: UNUSED,
  attachments: UNUSED,
  memory: UNUSED,
  workspace: UNUSED,
  delegation: UNUSED,
  web: UNUSED,
  programs: UNUSED,
}

/** Everything that is built in, and nothing else. */
export async function builtins(): Promise<Generation> {
  const dir = fileURLToPath(CAPABILITIES_DIR)
  const loaded = await createBuiltinSource({ dir, services: SERVICES, version: '' }).load(new AbortController().signal)
  const units = loaded.map(unit => {
    if ('broken' in unit) throw new Error(unit.broken.map(({ message }) => message).join('\n'))
    return [unit.id, unit.definitions] as const
  })
  const effectKinds = createEffectKinds({ projectDir: '/project', connections: { get: () => undefined } })
  return (await createHub({ builtin: Object.fromEntries(units), effectKinds })).catalogue.current()
}
