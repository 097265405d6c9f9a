import type { AnyTool } from '../core/catalogue/index.ts'
import { createHub, type fakeService, type HubOptions, simpleCapability } from './hub.ts'

/** A hub with these tools in one capability, granted to `worker`; `stranger` has nothing. */
export function workerHub(
  tools: readonly AnyTool[],
  more: HubOptions & { dependencies?: readonly ReturnType<typeof fakeService>[] } = {},
) {
  const consentOperations = [{ name: 'mail.send', reason: 'It sends a mail in your name.', weight: 'high' as const }]
  const capability = simpleCapability('main', tools, { consentOperations })
  const dependencies = (more.dependencies ?? []).map(service => service.dependency)
  return createHub({
    units: { 'main.ts': { capabilities: [capability], dependencies } },
    agents: { worker: { capabilities: { main: {} } }, stranger: { capabilities: {} } },
    ...more,
  })
}
