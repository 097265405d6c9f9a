import { describe, expect, it } from 'vitest'
import { findUnpinned, pinnedArgs } from './package-pin.ts'

const find = (line: string) => {
  const [command = '', ...args] = line.split(' ')
  return { found: findUnpinned(command, args), args }
}

describe('a command that runs a package', () => {
  it.each([
    ['npx -y server', 'npx', 'server'],
    ['npx -y @scope/server /data', 'npx', '@scope/server'],
    ['npx --yes server@latest', 'npx', 'server'],
    ['npx -y server@1', 'npx', 'server'],
    ['/usr/bin/npx -p @scope/pkg serve', 'npx', '@scope/pkg'],
    ['npx --package=pkg serve', 'npx', 'pkg'],
    ['cmd /c npx -y server', 'npx', 'server'],
    ['pnpm dlx server', 'npx', 'server'],
    ['bunx server', 'npx', 'server'],
    ['uvx mcp-server-git --repository .', 'uvx', 'mcp-server-git'],
    ['uvx --from pkg[extra] serve', 'uvx', 'pkg[extra]'],
    ['uv tool run pkg', 'uvx', 'pkg'],
    ['docker run -i --rm -e TOKEN ghcr.io/a/b', 'docker', 'ghcr.io/a/b'],
    ['docker run -i --name x localhost:5000/a:latest', 'docker', 'localhost:5000/a'],
  ])('without a version is found: %s', (line, runner, name) => {
    expect(find(line).found).toMatchObject({ runner, package: name })
  })

  it.each([
    'npx -y server@1.2.3',
    'npx -y @scope/server@1.2.3-beta.1',
    'npx ./server',
    'npx -y https://example.com/x.tgz',
    'uvx pkg==1.2.3',
    'uvx pkg@1.2.3',
    'uvx --from git+https://example.com/x serve',
    'docker run -i a/b:1.2',
    'docker run -i a/b@sha256:abc',
    'docker exec -i box serve',
    'node server.js',
    'npx',
  ])('is left alone otherwise: %s', line => {
    expect(find(line).found).toBeUndefined()
  })

  it.each([
    ['npx -y server@latest --port 1', '-y server@2.0.0 --port 1'],
    ['npx --package=pkg serve', '--package=pkg@2.0.0 serve'],
    ['cmd /c npx -y server', '/c npx -y server@2.0.0'],
  ])('gets the version where the package stands: %s', (line, pinned) => {
    const { found, args } = find(line)
    expect(found && pinnedArgs(args, found, '2.0.0').join(' ')).toBe(pinned)
  })
})
