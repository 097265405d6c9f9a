import { MARK } from './child-mark.ts'

/** Everything a child gets from our own environment: what programs need to be found, to speak and to reach the network. */
const PASSED = new Set([
  // Who and where.
  ...['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'LANGUAGE', 'TZ', 'TERM', 'TMPDIR', 'TMP', 'TEMP'],
  ...['XDG_CACHE_HOME', 'XDG_CONFIG_HOME', 'XDG_DATA_HOME', 'XDG_STATE_HOME', 'XDG_RUNTIME_DIR'],
  ...['XDG_CONFIG_DIRS', 'XDG_DATA_DIRS'],
  // Whom to trust and how to get out.
  ...['SSL_CERT_FILE', 'SSL_CERT_DIR', 'NODE_EXTRA_CA_CERTS', 'REQUESTS_CA_BUNDLE', 'CURL_CA_BUNDLE'],
  ...['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'all_proxy', 'no_proxy'],
  // Where the programs that fetch servers keep things. No address of a private registry but npm's: others hold passwords.
  ...['npm_config_cache', 'npm_config_prefix', 'npm_config_registry', 'npm_config_cafile', 'npm_config_userconfig'],
  ...['NPM_CONFIG_CACHE', 'NPM_CONFIG_PREFIX', 'NPM_CONFIG_REGISTRY', 'NPM_CONFIG_CAFILE', 'NPM_CONFIG_USERCONFIG'],
  ...['PNPM_HOME', 'VOLTA_HOME', 'NVM_DIR', 'BUN_INSTALL', 'DENO_DIR', 'UV_CACHE_DIR', 'UV_PYTHON_INSTALL_DIR'],
  ...['PIP_CACHE_DIR', 'PYENV_ROOT', 'ASDF_DATA_DIR', 'JAVA_HOME', 'DOTNET_ROOT', 'DOCKER_HOST', 'DOCKER_CONFIG'],
])

/** Without these hardly anything runs on Windows. Names are the same in any case there. */
const PASSED_ON_WINDOWS = new Set([
  ...['PATH', 'PATHEXT', 'COMSPEC', 'SYSTEMROOT', 'SYSTEMDRIVE', 'WINDIR', 'TEMP', 'TMP', 'USERNAME', 'USERPROFILE'],
  ...['HOMEDRIVE', 'HOMEPATH', 'APPDATA', 'LOCALAPPDATA', 'PROGRAMDATA', 'PROGRAMFILES', 'PROGRAMFILES(X86)'],
  ...['PROCESSOR_ARCHITECTURE', 'NUMBER_OF_PROCESSORS'],
])

export interface ChildEnvironmentOptions {
  /** Our own environment. */
  readonly inherited: Readonly<Record<string, string | undefined>>
  /** What the configuration says; it wins. */
  readonly configured: Readonly<Record<string, string>>
  readonly mark: string
  readonly platform?: NodeJS.Platform
}

/** All that a child gets: a few variables of ours, what is configured, and the mark. Nothing else of ours is its business. */
export function childEnvironment(options: ChildEnvironmentOptions): Record<string, string> {
  const { inherited, configured, mark, platform = process.platform } = options
  const passed = Object.entries(inherited).filter(
    (entry): entry is [string, string] => isPassed(entry[0], platform) && isPlain(entry[1]),
  )
  return { ...Object.fromEntries(passed), ...configured, [MARK]: mark }
}

function isPassed(name: string, platform: NodeJS.Platform): boolean {
  if (platform === 'win32' && PASSED_ON_WINDOWS.has(name.toUpperCase())) return true
  return PASSED.has(name) || /^LC_[A-Z]+$/.test(name)
}

/** Old shells export functions as variables and run what they find there. */
function isPlain(value: string | undefined): boolean {
  return value !== undefined && !value.startsWith('()')
}
