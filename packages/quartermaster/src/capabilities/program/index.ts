import { AppError, type ToolResult } from '../../contracts/index.ts'
import {
  type DependencyDefinition,
  defineDependency,
  defineModule,
  type OpContext,
  type ProgramService,
  registerOp,
  type Secrets,
  toolFailure,
} from '../../core/catalogue/index.ts'
import { createSecretTexts, looksLikeSecret } from '../../core/secrets/index.ts'
import { dependencyName, neededSecret, secretDependency } from '../shared/secret-dependency.ts'
import { fill, lacksValue, parseTemplate, secretsIn, type Values } from '../shared/template.ts'
import { refusing } from '../shared/walls/refusal.ts'
import { buildArgs, foreignLines } from './build-args.ts'
import { resultOf } from './outcome.ts'
import { folderFaults, placesIn, programFaults } from './places.ts'
import { ProgramSettings } from './settings.ts'

/** Programs on this machine, for tools that are written down and not programmed. */
export default defineModule({
  needs: ['programs', 'secrets', 'paths'],
  create: ({ programs, secrets, paths }) =>
    registerOp('op.program.run', {
      short: 'Runs a program on this machine, without a shell, and hands on what it prints.',
      settings: ProgramSettings,
      check: use => [...programFaults(use), ...folderFaults(use.settings, paths)],
      dependencies: ({ settings }) => [
        programDependency(settings.program, programs),
        ...secretsIn(placesIn(settings)).map(name => secretDependency(name, secrets)),
      ],
      handler: (input, context) => run(input as Values, context, { programs, secrets }),
    }),
})

function programDependency(program: string, programs: ProgramService): DependencyDefinition {
  return defineDependency({
    name: dependencyName('program', program),
    title: `The program ${program}`,
    fix: `Install "${program}", or correct "program" in the declaration.`,
    probe: programs.probe(program),
  })
}

interface RunDeps {
  readonly programs: ProgramService
  readonly secrets: Secrets
}

async function run(
  values: Values,
  { settings, signal }: OpContext<ProgramSettings>,
  { programs, secrets }: RunDeps,
): Promise<ToolResult> {
  const { program, cwd, maxBytes } = settings
  const known = new Map(secretsIn(placesIn(settings)).map(name => [name, neededSecret(secrets, name)]))
  const passed = passedVariables(settings, programs)
  // Variables of our environment may hold credentials too, though they are not declared as secrets.
  const credentials = passed.filter(([name, text]) => looksLikeSecret(name, text)).map(([, text]) => text)
  const masked = [...known.values(), ...credentials]
  const { redact } = createSecretTexts(masked)
  return refusing(async () => {
    const { args, foreign } = buildArgs(settings, values)
    const env = { ...Object.fromEntries(passed), ...writtenVariables(settings, name => known.get(name) ?? '') }
    const input = inputOf(settings, values)
    const told = { args, stdin: input?.text, foreign: [...foreign, ...(input?.foreign ?? [])] }
    const outcome = await programs.run({ program, ...told, cwd, env, maxBytes, signal })
    if (outcome.kind === 'refused') return toolFailure(outcome.reason)
    if (outcome.kind === 'failed') {
      const details = { dependency: dependencyName('program', program) }
      throw new AppError('DEPENDENCY_UNAVAILABLE', outcome.reason, { details })
    }
    return resultOf(outcome, { settings, redact, secrets: masked })
  })
}

function passedVariables({ passEnv }: ProgramSettings, programs: ProgramService): (readonly [string, string])[] {
  return passEnv.flatMap(name => {
    const text = programs.variable(name)
    return text === undefined ? [] : [[name, text] as const]
  })
}

function writtenVariables({ env }: ProgramSettings, secret: (name: string) => string): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).map(([name, text]) => [name, fill(parseTemplate(text), { values: {}, secret })]),
  )
}

function inputOf(settings: ProgramSettings, values: Values) {
  const template = parseTemplate(settings.stdin ?? '')
  if (settings.stdin === undefined || lacksValue(template, values)) return undefined
  return { text: fill(template, { values }), foreign: foreignLines(template, values, settings) }
}
