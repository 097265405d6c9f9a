import { expect, it } from 'vitest'
import type { AgentConfig } from '../../contracts/index.ts'
import { createHub, failureOf, simpleCapability, simpleTool } from '../../testing/hub.ts'
import { grantCapability } from './control.ts'

it('allows for good what may be, and refuses what can be allowed for one call at a time only', async () => {
  const consentOperations = [
    { name: 'mail.send', reason: 'It sends.', weight: 'low', scope: '{to}' },
    { name: 'mail.purge', reason: 'It is gone.', weight: 'high', grantable: 'once' },
  ] as const
  const tool = simpleTool('purge', { mutates: true, consent: ['mail.purge', 'mail.send'] })
  const core = await createHub({
    units: { main: { capabilities: [simpleCapability('main', [tool], { consentOperations })] } },
  })
  const agentFiles = {
    edit: async (_: string, change: (before: AgentConfig) => AgentConfig) => change({ capabilities: {} }),
  }
  const grant = (consent: string[], more = {}) =>
    grantCapability({ core, project: { agentFiles } } as never, { agent: 'ada', capability: 'main', consent, ...more })
  expect(await grant(['mail.send'])).toMatchObject({ consent: { allow: ['mail.send'] } })
  expect(await failureOf(grant(['mail.send', 'mail.purge']))).toMatchObject({
    code: 'CONFIG_INVALID',
    message: expect.stringContaining('"mail.purge" can be allowed for one call at a time only'),
  })
})
