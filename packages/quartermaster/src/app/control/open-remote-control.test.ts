import { expect, it } from 'vitest'
import { failureOf } from '../../testing/hub.ts'
import { tempProject } from '../../testing/temp-project.ts'
import { openPersonControl } from './open-remote-control.ts'

it.each(['nonsense', 'https://eve:secret@tools.example', 'http://tools.example:7420', 'http://127.0.0.1.example:7420'])(
  'sends no token to %s',
  async url => {
    const failure = await failureOf(openPersonControl({ token: 'qm_secret', url, from: '.' }))
    expect(failure).toMatchObject({ code: 'CONFIG_INVALID' })
    expect(String(failure)).not.toContain('secret')
  },
)

it.each(['https://tools.example', 'http://[::1]:7420'])('accepts the address %s', async url => {
  expect(await openPersonControl({ token: 'qm_secret', url, from: '.' })).toMatchObject({ from: 'up' })
})

it('needs a running up, and says how to name one', async () => {
  const { dir } = await tempProject()
  expect(await failureOf(openPersonControl({ token: 'qm_secret', from: dir }))).toMatchObject({
    code: 'DEPENDENCY_UNAVAILABLE',
    message: expect.stringContaining('--url'),
  })
})
