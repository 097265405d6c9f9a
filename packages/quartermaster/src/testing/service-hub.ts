import { createHub, type FakeService, simpleCapability, simpleTool } from './hub.ts'

/** A hub with one tool per service, all granted to one agent, with the first round of probes done. */
export async function serviceHub(services: readonly FakeService[], more: Parameters<typeof createHub>[0] = {}) {
  const tools = services.map(({ dependency }) => simpleTool(`use_${dependency.name}`, { requires: [dependency.name] }))
  const hub = await createHub({
    units: {
      'main.ts': { capabilities: [simpleCapability('main', tools)], dependencies: services.map(one => one.dependency) },
    },
    agents: { worker: { capabilities: { main: {} } } },
    ...more,
  })
  const probing = hub.health.probeNew()
  await hub.clock.advance(2_000)
  await probing
  return hub
}
