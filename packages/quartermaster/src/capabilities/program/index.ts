import { AppError, type ToolResult } from '../../contracts/index.ts'
import {
  type DependencyDefinition,
  defineDependency,
  defineModule,
  type OpContext,
  type ProgramDesk,
  registerOp,
  type Secrets,
  toolFailure,
} from '../../core/catalogue/index.ts'
import { createSecretTexts } from '../../core/kernel/index.ts'
import { dependencyName } from '../shared/dependency-name.ts'
import { neededSecret } from '../shared/needed-secret.ts'
import { Refusal } from '../shared/refusal.ts'
import { secretDependency } from '../shared/secret-dependency.ts'
import { fill, lacksValue, parseTemplate, type Values } from '../shared/template.ts'
import { buildArgs } from './build-args.ts'
import { resultOf } from './outcome.ts'
import { programFaults, secretsIn } from './places.ts'
import { ProgramSettings } from './settings.ts'

/** Programs on this machine, for tools that are written down and not programmed. */
export default defineModule({
  needs: ['programs', 'secrets'],
  create: ({ programs, secrets }) =>
    registerOp('op.program.run', {
      short: 'Runs a program on this machine, without a shell, and hands on what it prints.',
      settings: ProgramSettings,
      check: programFaults,
      dependencies: ({ settings }) => [
        programDependency(settings.program, programs),
        ...secretsIn(settings).map(secretDependency),
      ],
      handler: (input, context) => run(input as Values, context, { programs, secrets }),
    }),
})

function programDependency(program: string, programs: ProgramDesk): DependencyDefinition {
  return defineDependency({
    name: dependencyName('program', program),
    title: `The program ${program}`,
    mend: `Install "${program}", or correct "program" in the declaration.`,
    probe: programs.probe(program),
  })
}

interface RunDeps {
  readonly programs: ProgramDesk
  readonly secrets: Secrets
}

async function run(
  values: Values,
  { settings, signal }: OpContext<ProgramSettings>,
  { programs, secrets }: RunDeps,
): Promise<ToolResult> {
  const { program, cwd, maxBytes } = settings
  const known = new Map(secretsIn(settings).map(name => [name, neededSecret(secrets, name)]))
  const { redact } = createSecretTexts([...known.values()])
  try {
    const { args, foreignArgs } = buildArgs(settings, values)
    const env = environmentOf(settings, name => known.get(name) ?? '')
    const stdin = stdinOf(settings, values)
    const outcome = await programs.run({ program, args, foreignArgs, cwd, env, stdin, maxBytes, signal })
    if (outcome.kind === 'refused') return toolFailure(outcome.reason)
    if (outcome.kind === 'failed') {
      const details = { dependency: dependencyName('program', program) }
      throw new AppError('DEPENDENCY_UNAVAILABLE', outcome.reason, { details })
    }
    return resultOf(outcome, settings, redact)
  } catch (error) {
    if (error instanceof Refusal) return toolFailure(error.message)
    throw error
  }
}

function environmentOf({ env, passEnv }: ProgramSettings, secret: (name: string) => string): Record<string, string> {
  const passed = passEnv.flatMap(name => (process.env[name] === undefined ? [] : [[name, process.env[name]] as const]))
  const written = Object.entries(env).map(([name, text]) => [name, fill(parseTemplate(text), { values: {}, secret })])
  return { ...Object.fromEntries(passed), ...Object.fromEntries(written) }
}

function stdinOf({ stdin }: ProgramSettings, values: Values): string | undefined {
  if (stdin === undefined) return undefined
  const template = parseTemplate(stdin)
  return lacksValue(template, values) ? undefined : fill(template, { values })
}
