import { expect, it } from 'vitest'
import { packageVersion, versionIn } from './client-setup.ts'

const answer = (latest: string, ...versions: string[]) =>
  JSON.stringify(versions.map(version => ({ version, 'dist-tags.latest': latest })))

it.each([
  ['{"version":"6.0.0-beta.2"}', '6.0.0-beta.2'],
  [answer('5.0.0', '4.9.0', '4.21.2', '4.10.1'), '4.21.2'],
  [answer('4.9.0', '4.9.0', '4.21.2'), '4.9.0'],
  [answer('1.0.0', '2.0.0', '2.0.0-rc.1'), '2.0.0'],
])('chooses the version that npm would install: %s', (text, version) => {
  expect(versionIn(text)).toBe(version)
})

it.each(['a@$(x)', 'a@1;x', '--a'])('never passes %j to npm', async wanted => {
  await expect(packageVersion(wanted, { signal: new AbortController().signal })).rejects.toMatchObject({
    code: 'INPUT_INVALID',
  })
})
