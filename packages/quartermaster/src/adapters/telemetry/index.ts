export { openTelemetry, type Telemetry, type TelemetryDeps } from './telemetry.ts'
