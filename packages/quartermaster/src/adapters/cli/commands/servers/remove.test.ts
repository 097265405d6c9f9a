import { expect, it } from 'vitest'
import { AppError, type RemovedUpstream } from '../../../../contracts/index.ts'
import { createFakeCliHost } from '../../../../testing/cli-host.ts'
import { runCli } from '../../index.ts'

const REMOVED: RemovedUpstream = {
  file: '/p/c.json',
  revokedFrom: [],
  taken: {},
  stillNamedBy: [],
  problems: [],
  removedSecrets: [],
  keptSecrets: [],
}

async function remove(answer: Partial<RemovedUpstream>, ...options: string[]) {
  const { host, seen } = createFakeCliHost({ control: { removeUpstream: async () => ({ ...REMOVED, ...answer }) } })
  return { code: await runCli(['remove', 'notes', ...options], host), ...seen }
}

const TAKEN = {
  revokedFrom: ['default', 'bob', 'ada'],
  taken: { default: {}, bob: {}, ada: { tools: ['read', 'find'] } },
} satisfies Partial<RemovedUpstream>

it('says from whom it was taken, and of each that had only a part of it which', async () => {
  const secrets = { removedSecrets: ['KEY'], keptSecrets: [{ name: 'TOKEN', usedBy: ['agents/ada.json'] }] }
  const { code, stdout } = await remove({ ...TAKEN, ...secrets })
  expect(code).toBe(0)
  expect(stdout).toBe(
    '✓ "notes" is removed. (/p/c.json)\n' +
      '  Taken from: default, bob.\n' +
      '  Taken from ada, whose file had "notes": {"tools":["read","find"]}\n' +
      '  Taken out of the secrets file: KEY.\n' +
      '  Still in the secrets file: TOKEN, named in agents/ada.json.\n',
  )
})

it('answers a program with the same', async () => {
  const { code, stdout } = await remove(TAKEN, '--json')
  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toEqual({ ...REMOVED, ...TAKEN })
})

it('says whose file could not be changed, and ends with that', async () => {
  const problem = {
    severity: 'warning',
    code: 'AGENT_INVALID',
    where: 'agents/eve.json',
    message: '"notes" could not be taken from "eve": it is a link.',
    fix: 'Take it out.',
  } as const
  const { code, stdout } = await remove({ ...TAKEN, stillNamedBy: ['eve'], problems: [problem] })
  expect(code).toBe(1)
  expect(stdout).toContain('  Taken from: default, bob.\n')
  expect(stdout).toContain(
    '! agents/eve.json: "notes" could not be taken from "eve": it is a link.\n  Fix: Take it out.\n',
  )
})

it.each([
  [{ pins: 3, logins: 0 }, '3 pins'],
  [{ pins: 1, logins: 2 }, '1 pin and 2 logins'],
  [{ pins: 0, logins: 1 }, '1 login'],
  [{ pins: 0, logins: 0 }, 'that it was ever seen'],
])('says that there was no entry, and of %j that it was forgotten', async (forgotten, text) => {
  const { code, stdout } = await remove({ forgotten, revokedFrom: ['bob'], taken: { bob: {} } })
  expect(code).toBe(0)
  expect(stdout).toBe(`✓ There was no entry of "notes". (/p/c.json)\n  Forgotten: ${text}.\n  Taken from: bob.\n`)
})

it('keeps its secrets on request', async () => {
  const asked: object[] = []
  const { host } = createFakeCliHost({ control: { removeUpstream: async input => (asked.push(input), REMOVED) } })
  await runCli(['remove', 'notes'], host)
  await runCli(['remove', 'notes', '--keep-secrets'], host)
  expect(asked).toEqual([{ name: 'notes' }, { name: 'notes', keepSecrets: true }])
})

it('says what there is when the name is wrong', async () => {
  const removeUpstream = () => Promise.reject(new AppError('NAME_UNKNOWN', 'There is none.'))
  const { host, seen } = createFakeCliHost({ control: { removeUpstream } })
  expect(await runCli(['remove', 'nots'], host)).toBe(4)
  expect(seen.stderr).toContain('See all upstreams: quartermaster upstreams')
})
