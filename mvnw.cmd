@echo off
rem Runs the Maven that .mvn\wrapper\maven-wrapper.properties names, fetched once from Apache's own archive and checked
rem against its SHA-256. Needs a JDK and PowerShell. Nothing but the archive is asked.
setlocal
set "BASE=%~dp0"
for /f "tokens=1,* delims==" %%a in ('findstr /b "distribution" "%BASE%.mvn\wrapper\maven-wrapper.properties"') do set "%%a=%%b"
for %%f in ("%distributionUrl:/=\%") do set "ARCHIVE=%%~nxf"
set "NAME=%ARCHIVE:-bin.zip=%"
if "%MAVEN_USER_HOME%"=="" set "MAVEN_USER_HOME=%USERPROFILE%\.m2"
set "DISTS=%MAVEN_USER_HOME%\wrapper\dists\%NAME%"
set "TARGET=%DISTS%\%distributionSha256Sum%"
if exist "%TARGET%\bin\mvn.cmd" goto run
echo mvnw: fetching %NAME% 1>&2
powershell -NoProfile -ExecutionPolicy Bypass -Command ^
  "$ErrorActionPreference='Stop';" ^
  "$work=Join-Path $env:TEMP ([guid]::NewGuid());" ^
  "New-Item -ItemType Directory -Force $work,$env:DISTS | Out-Null;" ^
  "try {" ^
  "  $zip=Join-Path $work $env:ARCHIVE;" ^
  "  Invoke-WebRequest -UseBasicParsing $env:distributionUrl -OutFile $zip;" ^
  "  $sum=(Get-FileHash $zip -Algorithm SHA256).Hash.ToLower();" ^
  "  if ($sum -ne $env:distributionSha256Sum) { throw \"$env:ARCHIVE has SHA-256 $sum: not running it\" };" ^
  "  Expand-Archive $zip $work;" ^
  "  Move-Item (Join-Path $work $env:NAME) $env:TARGET" ^
  "} finally { Remove-Item -Recurse -Force $work }"
if errorlevel 1 exit /b 1
:run
call "%TARGET%\bin\mvn.cmd" %*
exit /b %ERRORLEVEL%
