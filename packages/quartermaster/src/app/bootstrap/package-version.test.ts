import { expect, it } from 'vitest'
import { packageVersion, takenOf } from './package-version.ts'

const answer = (latest: string, ...versions: string[]) =>
  JSON.stringify(versions.map(version => ({ version, 'dist-tags.latest': latest })))

it.each([
  ['{"version":"5.3.0","dist-tags.latest":"5.3.0"}', '5.3.0'],
  ['{"version":"6.0.0-beta.2"}', '6.0.0-beta.2'],
  [answer('5.0.0', '4.9.0', '4.21.2', '4.10.1'), '4.21.2'],
  [answer('4.9.0', '4.9.0', '4.21.2'), '4.9.0'],
  [answer('1.0.0', '2.0.0-beta.9', '2.0.0-beta.10'), '2.0.0-beta.10'],
  [answer('1.0.0', '2.0.0', '2.0.0-rc.1'), '2.0.0'],
  ['{"version":"x"}', undefined],
  ['', undefined],
])('of what npm answers the version is taken that npm would take: %s', (text, version) => {
  expect(takenOf(text)).toBe(version)
})

it.each(['a@$(x)', 'a@1;x', 'a@file:x', 'a@"1"', '--a', 'a@1\nb'])('npm is never asked for %j', async wanted => {
  await expect(packageVersion(wanted, { signal: new AbortController().signal })).rejects.toMatchObject({
    code: 'INPUT_INVALID',
  })
})
