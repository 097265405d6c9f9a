import { describe, expect, it } from 'vitest'
import { callTool, openChannel, processManagerFixture } from '../mcp-upstream/testing/child-fixture.ts'
import { childEnvironment } from './process-manager.ts'

const MINE = {
  PATH: '/usr/bin',
  HOME: '/home/me',
  LC_TIME: 'de_DE.UTF-8',
  https_proxy: 'http://proxy:3128',
  NODE_EXTRA_CA_CERTS: '/etc/company.pem',
  npm_config_registry: 'https://npm.company.example',
  AWS_SECRET_ACCESS_KEY: 'hunter2',
  GITHUB_TOKEN: 'hunter2',
  NODE_OPTIONS: '--inspect',
  npm_config__authToken: 'hunter2',
  DATABASE_URL: 'postgres://me:hunter2@db',
  QUARTERMASTER_DATA: '/data',
  QUARTERMASTER_TOKEN: 'hunter2',
  QUARTERMASTER_SEALING_KEY: 'hunter2',
  QUARTERMASTER_UPSTREAM: 'of-somebody-else',
  SSH_AUTH_SOCK: '/tmp/agent',
  LC_: 'x',
  TERM: '() { :;}; echo old shells run this',
}

const PASSED = {
  PATH: '/usr/bin',
  HOME: '/home/me',
  LC_TIME: 'de_DE.UTF-8',
  https_proxy: 'http://proxy:3128',
  NODE_EXTRA_CA_CERTS: '/etc/company.pem',
  npm_config_registry: 'https://npm.company.example',
}

describe('the environment of a child', () => {
  it('has a few variables of ours, what is configured, and the mark', () => {
    expect(childEnvironment({ inherited: MINE, configured: { API_KEY: 'k' }, mark: 'm', platform: 'linux' })).toEqual({
      ...PASSED,
      API_KEY: 'k',
      QUARTERMASTER_UPSTREAM: 'm',
    })
  })

  it('is as configured where both have a word, but for the mark', () => {
    const configured = { PATH: '/opt/bin', GITHUB_TOKEN: 'mine', QUARTERMASTER_UPSTREAM: 'forged' }
    expect(childEnvironment({ inherited: MINE, configured, mark: 'm', platform: 'linux' })).toMatchObject({
      PATH: '/opt/bin',
      GITHUB_TOKEN: 'mine',
      QUARTERMASTER_UPSTREAM: 'm',
    })
  })

  it('has on Windows what nothing runs without, in any case', () => {
    const inherited = { Path: 'C:\\bin', SystemRoot: 'C:\\Windows', ComSpec: 'cmd.exe', Secret: 'x' }
    expect(childEnvironment({ inherited, configured: {}, mark: 'm', platform: 'win32' })).toEqual({
      Path: 'C:\\bin',
      SystemRoot: 'C:\\Windows',
      ComSpec: 'cmd.exe',
      QUARTERMASTER_UPSTREAM: 'm',
    })
  })

  it('is what the child really sees', async () => {
    const { processManager } = await processManagerFixture({ inherited: { ...MINE, PATH: process.env.PATH } })
    const server = await openChannel({ processManager, env: { API_KEY: 'k' } })
    expect(JSON.parse(await callTool(server, 'env'))).toEqual({
      ...PASSED,
      PATH: process.env.PATH,
      API_KEY: 'k',
      QUARTERMASTER_UPSTREAM: expect.stringMatching(/^[0-9a-f]{16}\.[0-9a-f]{16}\.1$/),
    })
  })
})
