import { isBuiltin } from 'node:module'
import { posix } from 'node:path'
import { isForTests } from './sources.ts'

type Layer = 'contracts' | 'core' | 'adapters' | 'capabilities' | 'app' | 'bin' | 'entry'

/** Where a file stands: its layer, and the unit within it whose files belong together. */
interface Place {
  readonly layer: Layer
  /** `core/health`, `adapters/http`, `contracts`, … */
  readonly unit: string
}

interface LayerRule {
  /** What it may import, by layer: a unit's `index.ts`, or any file of it. */
  readonly faces: readonly Layer[]
  readonly files: readonly Layer[]
  /** Said of an import from any other layer. */
  readonly otherwise: string
  readonly builtins: boolean
  /** Packages it may use; all when absent. */
  readonly packages?: readonly string[]
}

const OUTSIDE = { faces: ['contracts', 'core'], files: [], builtins: true } as const

const RULES: Readonly<Record<Layer, LayerRule>> = {
  contracts: { faces: [], files: [], otherwise: 'contracts import only contracts', builtins: false, packages: ['zod'] },
  core: {
    faces: ['contracts', 'core'],
    files: [],
    otherwise: 'core imports only contracts and core',
    builtins: false,
    // shell-quote reads the words of shell scripts and mdast-util-from-markdown pages: readers of our own were 300 lines each.
    packages: ['zod', '@standard-schema/spec', 'shell-quote', 'mdast-util-from-markdown'],
  },
  adapters: { ...OUTSIDE, otherwise: 'an adapter imports only contracts and core' },
  capabilities: { ...OUTSIDE, otherwise: 'a capability imports only contracts and core' },
  app: {
    faces: ['contracts'],
    files: ['core', 'adapters', 'capabilities', 'app', 'entry'],
    otherwise: 'app imports everything but bin',
    builtins: true,
  },
  bin: { faces: [], files: ['app'], otherwise: 'bin imports only app and adapters/cli', builtins: true, packages: [] },
  entry: {
    faces: ['contracts', 'core', 'adapters'],
    files: ['app', 'entry'],
    otherwise: 'an entry point passes on contracts, core, adapters and app',
    builtins: false,
    packages: [],
  },
}

/** Units that may import the face of another one although their layer may not. */
const EXCEPTIONS: Readonly<Record<string, readonly string[]>> = {
  'adapters/storage-sqlite': ['adapters/storage-sql'],
  'adapters/storage-postgres': ['adapters/storage-sql'],
  'adapters/mcp-bridge': ['adapters/mcp-wire', 'adapters/http-exchange'],
  'adapters/elsewhere': ['adapters/mcp-bridge', 'adapters/mcp-wire', 'adapters/http-client', 'adapters/http-exchange'],
  'adapters/control-client': ['adapters/http-exchange'],
  'adapters/data-folder': ['adapters/http-exchange'],
  'adapters/mcp-upstream': ['adapters/mcp-wire', 'adapters/http-client', 'adapters/programs'],
  'adapters/a2a-client': ['adapters/http-client'],
  bin: ['adapters/cli'],
}

/** What capabilities share: no capability itself, so that it has no index, and each of its files may be used. */
const SHARED = 'capabilities/shared'

/** Said of an import that goes past a unit's `index.ts`. */
const FACE_REASONS: Partial<Record<Layer, string>> = {
  contracts: 'contracts are imported through contracts/index.ts',
  core: 'a context is imported through its index.ts',
  adapters: 'an adapter is imported through its index.ts',
}

/** The package's own name. Importing it from inside would reach everything from everywhere. */
const SELF = 'quartermaster'

/** Where a file stands, or nothing when its folder is no layer. */
export function placeOf(path: string): Place | undefined {
  const [layer = '', unit = '', ...rest] = path.split('/')
  if (!unit) return { layer: 'entry', unit: 'entry' }
  if (layer === 'contracts' || layer === 'app' || layer === 'bin') return { layer, unit: layer }
  if (layer !== 'core' && layer !== 'adapters' && layer !== 'capabilities') return undefined
  return rest.length > 0 ? { layer, unit: `${layer}/${unit}` } : undefined
}

/** The file below `src` that a relative specifier means; it starts with `..` when it leads outside. */
export function targetOf(path: string, specifier: string): string | undefined {
  return /^\.{1,2}(\/|$)/.test(specifier) ? posix.join(posix.dirname(path), specifier) : undefined
}

/** Why this file must not import that, or nothing when it may. */
export function objectionTo(path: string, specifier: string): string | undefined {
  const from = placeOf(path)
  if (!from) return undefined
  const target = targetOf(path, specifier)
  return target === undefined ? objectionToModule(from, specifier) : objectionToFile(from, target)
}

function objectionToModule(from: Place, specifier: string): string | undefined {
  const { builtins, packages } = RULES[from.layer]
  if (specifier.startsWith('node:') || isBuiltin(specifier)) {
    return builtins ? undefined : `${userOf(from)} no Node builtins`
  }
  if (!/^(@[^/:#]+\/)?[^/:#.@]/.test(specifier) || specifier.includes(':')) {
    return 'only relative paths, packages and node: are imported'
  }
  const name = specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/')
  if (name === SELF) return 'the product does not import itself by name'
  if (!packages || packages.includes(name)) return undefined
  return `${userOf(from)} no packages${packages.length > 0 ? ` but ${packages.join(', ')}` : ''}`
}

function userOf({ layer }: Place): string {
  if (layer === 'entry') return 'an entry point uses'
  return layer === 'contracts' ? 'contracts use' : `${layer} uses`
}

function objectionToFile(from: Place, target: string): string | undefined {
  if (target.startsWith('..')) return 'an import stays below src'
  if (isForTests(target)) return 'only tests import what is for tests'
  const to = placeOf(target)
  if (!to) return 'this is no file of a layer'
  if (to.unit === from.unit) return undefined
  if (to.unit === SHARED && from.layer === 'capabilities') return undefined
  if (from.unit === SHARED && to.layer === 'capabilities') return 'what capabilities share imports none of them'
  const rule = RULES[from.layer]
  if (rule.files.includes(to.layer)) return undefined
  if (rule.faces.includes(to.layer) || EXCEPTIONS[from.unit]?.includes(to.unit)) {
    return target === `${to.unit}/index.ts` ? undefined : FACE_REASONS[to.layer]
  }
  return from.layer === to.layer ? `${to.layer} never import each other` : rule.otherwise
}
