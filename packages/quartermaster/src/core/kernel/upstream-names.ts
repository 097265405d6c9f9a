import { type Caller } from '../../contracts/index.ts'

const PREFIX = 'upstream:'
const DEPENDENCY_PREFIX = 'upstream-'

/** The unit of an upstream: its definitions come and go together, and its problems are reported under this name. */
export function upstreamUnit(name: string): string {
  return `${PREFIX}${name}`
}

export function upstreamOfUnit(unit: string): string | undefined {
  return unit.startsWith(PREFIX) ? unit.slice(PREFIX.length) : undefined
}

/** The dependency that an upstream's tools need: its connection. */
export function upstreamDependency(name: string): string {
  return `${DEPENDENCY_PREFIX}${name}`
}

export function upstreamOfDependency(dependency: string): string | undefined {
  return dependency.startsWith(DEPENDENCY_PREFIX) ? dependency.slice(DEPENDENCY_PREFIX.length) : undefined
}

/**
 * The prefix of an upstream's consent operations: lower case, beginning with a letter. It must be unique in a project, or
 * allowing one upstream would allow another.
 */
export function consentPrefix(upstream: string): string {
  const word = upstream.toLowerCase()
  return /^[a-z]/.test(word) ? word : `u${word}`
}

/** A unique key for each caller. Names have no slashes. */
export function callerKey({ organisation, workspace, kind, name }: Caller): string {
  return `${organisation}/${workspace}/${kind}/${name}`
}

const SIGN_IN = 'Sign in: '

/** The advice for an upstream that needs a login, with the agent where the login is the agent's own. */
export function loginStep(upstream: string, agent?: string): string {
  const whose = agent === undefined ? '' : ` --agent ${agent}`
  return `${SIGN_IN}quartermaster login ${upstream}${whose}`
}

/** The login advice at the end of a reason. Without it a login would not help. */
export function loginStepIn(reason: string, upstream: string): string | undefined {
  const text = reason.trimEnd().replace(/\.$/, '')
  const shared = loginStep(upstream)
  const at = text.lastIndexOf(shared)
  const whose = text.slice(at + shared.length)
  return at !== -1 && /^( --agent \S+)?$/.test(whose) ? text.slice(at) : undefined
}

/** The login advice of a reason, or else the one for all agents. */
export function neededLogin({ name, reason }: { readonly name: string; readonly reason: string }): string {
  return loginStepIn(reason, name) ?? loginStep(name)
}

export function loginCommand(step: string): string {
  return step.slice(SIGN_IN.length)
}

export function hasLoginStep(reason: string, upstream: string): boolean {
  return loginStepIn(reason, upstream) !== undefined
}

/** A reason without the login advice at its end, where that is shown separately. */
export function withoutLoginStep(reason: string, upstream: string): string {
  const step = loginStepIn(reason, upstream)
  return step === undefined ? reason : reason.slice(0, reason.lastIndexOf(step)).trimEnd()
}
