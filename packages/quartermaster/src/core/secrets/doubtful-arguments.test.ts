import { expect, it } from 'vitest'
import { doubtfulOptions } from './index.ts'

it.each([
  [['-p', 'P@ssw0rd!'], ['-p']],
  [['-k=hunter2x'], ['-k']],
  [['-p', 'P@55/word!'], ['-p']],
  [['-p', 'src/**/*.ts2', '-s', '$HOME/a1', '-t', 'node:20-alpine', '-p', 'db1:5432', '-s=MODE=fast2'], []],
  [['-p', 'server@1.2.3', '-p', '@scope/server-2', '-k', 'me2@mail.example', '-s', 'https://a.example/x1'], []],
])('a password may have signs that addresses, paths and packages have: %j', (args, options) => {
  expect(doubtfulOptions(args)).toEqual(options)
})

it('options behind which a password may stand are told, and not those of ordinary arguments', () => {
  expect(doubtfulOptions(['-k', 'hunter2', '-p', 'pa55word', '-p', 's3cret!', '--profile', 'ada2'])).toEqual([
    '-k',
    '-p',
  ])
  const ordinary = [
    '-p',
    '8080',
    '-t',
    'stdio',
    '-p',
    '@scope/pkg@1.2.3',
    '-t',
    '1500ms',
    '-s',
    'v1.2.3',
    '-k',
    '-p',
    '${A_1}',
  ]
  expect(doubtfulOptions(ordinary)).toEqual([])
})
