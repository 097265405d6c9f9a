import { basename } from 'node:path'
import { AppError, type ContentBlock, type ToolResult } from '../../contracts/index.ts'
import {
  type DependencyDefinition,
  defineDependency,
  defineModule,
  type OpContext,
  type ProgramOutcome,
  type ProgramService,
  registerOp,
  type Secrets,
  toolFailure,
  toolResult,
} from '../../core/catalogue/index.ts'
import { createSecretRedactor, looksLikeSecret, type Redact } from '../../core/secrets/index.ts'
import { binaryBlock, endOf, hasSecret, jsonResult, readJson } from '../shared/result-content.ts'
import { dependencyName, neededSecret, secretDependency } from '../shared/secret-dependency.ts'
import { fill, lacksValue, parseTemplate, secretsIn, type Values } from '../shared/template.ts'
import { decodeText, detectContent, HEAD_BYTES, sizeText } from '../shared/text.ts'
import { refusing } from '../shared/walls/refusal.ts'
import { buildArgs, foreignLines } from './build-args.ts'
import { folderFaults, placesIn, programFaults } from './places.ts'
import { PROGRAM_OP_LIMITS, ProgramSettings } from './settings.ts'

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
  // Variables of our environment may hold credentials that are not declared as secrets.
  const credentials = passed.filter(([name, text]) => looksLikeSecret(name, text)).map(([, text]) => text)
  const masked = [...known.values(), ...credentials]
  const { redact } = createSecretRedactor(masked)
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

type Ended = Extract<ProgramOutcome, { kind: 'ended' }>

interface OutcomeOptions {
  readonly settings: ProgramSettings
  readonly redact: Redact
  /** The masked texts themselves, to find them in bytes. */
  readonly secrets: readonly string[]
}

/** The output and exit code of a program as a result. */
function resultOf(ended: Ended, options: OutcomeOptions): ToolResult {
  const { program, okCodes, maxBytes } = options.settings
  if (ended.isCut)
    return toolFailure(`"${program}" printed more than ${sizeText(maxBytes)} and was ended. Ask for less of it.`)
  if (ended.code === null || !okCodes.includes(ended.code)) return complaint(ended, options)
  return printed(ended.stdout, options)
}

function printed(bytes: Uint8Array, options: OutcomeOptions): ToolResult {
  const { output, program } = options.settings
  const read = readingOf(bytes)
  if (read.kind === 'binary') return binaryResult(bytes, read.mimeType, options)
  if (output === 'json') return printedJson(read.text, program, options.redact)
  const text = options.redact(read.text)
  const content: ContentBlock[] = [{ type: 'text', text }]
  if (!read.isWhole)
    content.push({ type: 'text', text: `Some of what "${program}" printed is no UTF-8; "\uFFFD" stands there.` })
  if (output === 'text') return toolResult({ content })
  const lines = text === '' ? [] : text.replace(/\r?\n$/, '').split(/\r?\n/)
  return toolResult({ content, structuredContent: { lines } })
}

type Reading =
  /** `isWhole` is false when some bytes are no UTF-8. */
  | { readonly kind: 'text'; readonly text: string; readonly isWhole: boolean }
  | { readonly kind: 'binary'; readonly mimeType: string }

function readingOf(bytes: Uint8Array): Reading {
  try {
    return { kind: 'text', text: decodeText(bytes, 'utf-8'), isWhole: true }
  } catch {
    const head = bytes.subarray(0, HEAD_BYTES)
    const content = detectContent(head, '')
    const isUtf16 = content.kind === 'text' && content.encoding !== 'utf-8'
    if (content.kind !== 'text' && (content.mimeType !== UNKNOWN || head.includes(0)))
      return { kind: 'binary', mimeType: content.mimeType }
    return { kind: 'text', text: new TextDecoder(isUtf16 ? content.encoding : 'utf-8').decode(bytes), isWhole: isUtf16 }
  }
}

const UNKNOWN = 'application/octet-stream'

/** Bytes cannot be masked, so they are not passed on with a secret in them. */
function binaryResult(bytes: Uint8Array, mimeType: string, { settings, secrets }: OutcomeOptions): ToolResult {
  const { program, output } = settings
  if (output !== 'text') return toolFailure(`"${program}" did not print text, although its declaration says so.`)
  if (hasSecret(bytes, secrets))
    return toolFailure(`What "${program}" printed has a secret of this tool in it and is not handed on.`)
  return toolResult({ content: [binaryBlock(bytes, mimeType, `program:${encodeURIComponent(basename(program))}`)] })
}

function printedJson(written: string, program: string, redact: Redact): ToolResult {
  try {
    const { json, text } = readJson(written, redact)
    return jsonResult(json, text)
  } catch {
    // The output may be long and is for the author, so only the problem is named.
    return toolFailure(`"${program}" did not print JSON, although its declaration says so.`)
  }
}

/** The end of the error output, where most programs say what was wrong. */
function complaint({ code, stderr, stdout }: Ended, { settings: { program }, redact }: OutcomeOptions): ToolResult {
  const said = redact(textOf(stderr)).trim() || redact(textOf(stdout)).trim()
  const shown = endOf(said, PROGRAM_OP_LIMITS.complaintCharacters)
  const head = code === null ? `"${program}" was killed` : `"${program}" ended with code ${code}`
  return toolFailure(shown === '' ? `${head}.` : `${head}:\n${shown}`)
}

function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes)
}
