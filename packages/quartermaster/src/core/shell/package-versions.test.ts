import { describe, expect, it } from 'vitest'
import { withVersionsOf } from './index.ts'

const lineOf = (line: string) => {
  const [command = '', ...args] = line.split(' ')
  return { command, args }
}

describe('a command that names packages without a version', () => {
  it.each([
    ['npx -y server', 'npx -y server@1.2.3', 'npx -y server@1.2.3'],
    ['npx -y @scope/server@latest /b', 'npx -y @scope/server@1.2.3-rc.1 /a', 'npx -y @scope/server@1.2.3-rc.1 /b'],
    ['npx --package=pkg serve', 'npx -y -p pkg@1.2.3 serve', 'npx --package=pkg@1.2.3 serve'],
    ['pnpm dlx server', 'npx -y server@1.2.3', 'pnpm dlx server@1.2.3'],
    ['uvx server --with more', 'uvx server==1.2.3 --with more', 'uvx server==1.2.3 --with more'],
    ['docker run -i me/server', 'docker run -i me/server:1.2', 'docker run -i me/server:1.2'],
    ['deno run jsr:@me/server', 'deno run jsr:@me/server@1.2.3', 'deno run jsr:@me/server@1.2.3'],
  ])('gets it from one that does: %s', (line, before, after) => {
    expect(withVersionsOf(lineOf(line), lineOf(before)).args).toEqual(lineOf(after).args)
  })

  it('gets none inside a script', () => {
    const script = { command: 'sh', args: ['-c', 'npx a | npx b'] }
    expect(withVersionsOf(script, lineOf('npx a@1.0.0'))).toEqual({ args: script.args, versions: {} })
  })

  it.each([
    ['npx -y server', 'npx -y server-2@1.2.3'],
    ['npx -y server', 'npx -y server'],
    ['npx -y server', 'npx -y server@4'],
    ['npx -y server', 'npx -y server@beta'],
    ['npx -y server', 'npx -y server@github:me/server'],
    ['npx -y server@4', 'npx -y server@4.1.0'],
    ['npx -y server@4.2.0', 'npx -y server@4.1.0'],
    ['npx -y server', 'uvx server@1.2.3'],
    ['npx -y server', 'server server@1.2.3'],
    ['docker run server', 'docker run server:latest'],
    ['deno run jsr:@me/server/sub', 'deno run jsr:@me/server@1.2.3'],
    ['uvx --with a,b server==1.0', 'uvx --with a==1.0 server==1.0'],
  ])('stays as it is: %s beside %s', (line, before) => {
    expect(withVersionsOf(lineOf(line), lineOf(before))).toEqual({ args: lineOf(line).args, versions: {} })
  })
})
