import type { SettingsInput } from '../contracts/index.ts'
import { type AnyPrompt, type AnyResource, definePrompt } from '../core/catalogue/index.ts'
import type { PromptRequest, ResourceReadRequest, SuggestRequest } from '../core/operations/index.ts'
import { createHub, type fakeService, simpleCapability } from './hub.ts'

interface ReadFixtureOptions {
  prompts?: readonly AnyPrompt[]
  resources?: readonly AnyResource[]
  services?: readonly ReturnType<typeof fakeService>[]
  settings?: SettingsInput
}

/** A hub with these in one capability, granted to `worker`; `stranger` has nothing. */
export async function openReadFixture({
  prompts = [],
  resources = [],
  services = [],
  settings = {},
}: ReadFixtureOptions) {
  const dependencies = services.map(service => service.dependency)
  const capability = simpleCapability('main', [], {
    prompts,
    resources,
    dependencies,
    config: { type: 'object' },
    resolve: (_context, config) => ({ config }),
  })
  const hub = await createHub({
    units: { 'main.ts': { capabilities: [capability] } },
    agents: { worker: { capabilities: { main: { tone: 'dry' } } }, stranger: { capabilities: {} } },
    settings,
  })
  await hub.health.probeNew()
  const as = (agent: string) => hub.agents.session(agent)
  return {
    hub,
    render: (name: string, args: Record<string, string> = {}, more: Partial<PromptRequest> = {}) =>
      hub.readings.renderPrompt({ session: as('worker'), name, arguments: args, ...more }),
    read: (uri: string, more: Partial<ResourceReadRequest> = {}) =>
      hub.readings.readResource({ session: as('worker'), uri, ...more }).then(({ contents }) => contents),
    suggest: (request: Omit<SuggestRequest, 'session'>) => hub.readings.suggest({ session: as('worker'), ...request }),
    stranger: as('stranger'),
  }
}

/** A prompt that helps with its arguments. */
export const review = definePrompt({
  name: 'review',
  short: 'Asks for a review.',
  arguments: [
    { name: 'file', required: true, suggest: value => ['main.ts', 'more.ts'].filter(one => one.startsWith(value)) },
    { name: 'tone' },
  ],
  render: ({ file, tone = 'kind' }) => `Review ${file} and be ${tone}.`,
})
