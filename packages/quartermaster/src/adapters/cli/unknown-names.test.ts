import { expect, it } from 'vitest'
import { AppError, CONTROL, type Control } from '../../contracts/index.ts'
import { createFakeCliHost } from '../../testing/cli-host.ts'
import { runCli } from './index.ts'

const refuse = () => Promise.reject(new AppError('NAME_UNKNOWN', 'There is none of that name.'))
const control = Object.fromEntries(Object.keys(CONTROL).map(name => [name, refuse])) as unknown as Control

it.each([
  'workspaces show',
  'workspaces archive',
  'workspaces restore',
  'delegations show',
  'delegations cancel',
  'memory show',
  'memory forget',
  'peers show',
  'peers refresh',
  'peers remove',
])('%s of something that is not there names the command that lists what is', async words => {
  const [group = '', command = ''] = words.split(' ')
  const { host, seen } = createFakeCliHost({ control })
  expect(await runCli([group, command, 'nobody'], host)).toBe(4)
  expect(seen.stderr).toContain(`See all of them: quartermaster ${group} list`)
})
